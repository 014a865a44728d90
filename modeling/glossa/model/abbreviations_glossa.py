"""Word lists of sentence splitting, of all known languages together. They are saved with the model.

Commit 51e4de5 has the program that wrote the first version. The lists hold data of Unicode's CLDR 46.1.0
(suppressions) and UCD (Sentence_Terminal), copyright 2004-2024 Unicode, Inc., under the Unicode License V3:
https://www.unicode.org/license.txt. Permission is granted, free of charge, to use, copy, modify and distribute them
if this notice appears with all copies. They come as they are, without warranty.
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# End marks of scripts without capital letters.
END_MARKS = (
    "\u0589\u061d\u061e\u061f\u06d4\u0700\u0701\u0702\u07f9\u0837"
    "\u0839\u083d\u083e\u0964\u0965\u104b\u1362\u1367\u1368\u166e"
    "\u1735\u1736\u17d4\u17d5\u1803\u1809\u1944\u1945\u1aa8\u1aa9"
    "\u1aaa\u1aab\u1b4e\u1b4f\u1b5a\u1b5b\u1b5e\u1b5f\u1b7d\u1b7e"
    "\u1b7f\u1c3b\u1c3c\u1c7e\u1c7f\u2cf9\u2cfa\u2cfb\u2e2e\u2e3c"
    "\u2e53\u2e54\u2e60\u2e61\u3002\ua4ff\ua60e\ua60f\ua6f3\ua6f7"
    "\ua876\ua877\ua8ce\ua8cf\ua92f\ua9c8\ua9c9\uaa5d\uaa5e\uaa5f"
    "\uaaf0\uaaf1\uabeb\ufe12\ufe15\ufe16\ufe52\ufe56\ufe57\uff01"
    "\uff0e\uff1f\uff61\U00010a56\U00010a57\U00010f55\U00010f56\U00010f57\U00010f58\U00010f59"
    "\U00010f86\U00010f87\U00010f88\U00010f89\U00011047\U00011048\U000110be\U000110bf\U000110c0\U000110c1"
    "\U00011141\U00011142\U00011143\U000111c5\U000111c6\U000111cd\U000111de\U000111df\U00011238\U00011239"
    "\U0001123b\U0001123c\U000112a9\U000113d4\U000113d5\U0001144b\U0001144c\U000115c2\U000115c3\U000115c9"
    "\U000115ca\U000115cb\U000115cc\U000115cd\U000115ce\U000115cf\U000115d0\U000115d1\U000115d2\U000115d3"
    "\U000115d4\U000115d5\U000115d6\U000115d7\U00011641\U00011642\U0001173c\U0001173d\U0001173e\U00011944"
    "\U00011946\U00011a42\U00011a43\U00011a9b\U00011a9c\U00011c41\U00011c42\U00011ef7\U00011ef8\U00011f43"
    "\U00011f44\U00016a6e\U00016a6f\U00016af5\U00016b37\U00016b38\U00016b44\U00016d6e\U00016d6f\U00016e98"
    "\U0001bc9f\U0001da88"
)

TITLES = _words(
    """
    Abp Adm Amb Arq Asst Atty BS Bp Bpk Brig Capt Cdr Cie Cmdr Cnel Col Cpl Cpt D Des Det Dipl Dipl-Ing Dr Dra Dras
    Dres Drs Dña Eng Ens Esqs Excmo Exmo Fa Fr Frl Ft GS Gen Gov Gral Hj Hl Hon Hr Hrn Ilmo Ing Insp Ir Ldo Lic Lieut
    Lt M MM Mag Maj Messrs Mgr Mlle Mlles Mme Mmes Mr Mrs Ms Msgr Mt Mx Ny PGS Pbro Pe Pr Pres Prof Profa Pt Pvt Rep
    Rev Sdr Sdri Sen Sgt Sr Sra Sras Sres Srs Srta Srtas Supt TS ThS Tn Univ-Prof Vve abp av avv bc bijv bl.a bp bspw
    bzw cf cfr d.h d.v.s d.w.z dhr dl dna doc dott doç dr dra drs ds e.g egr esim f.eks fr frk gen gent geom hab hl hr
    hra i.e ifj ing inż jhr judr kpt ks mej mevr mgr mons mr mudr mw napr např np npr o.a p p.ej p.ex pastor phdr piem
    plk pr prof proff pvz pí płk rva sf sig sigg sn sog spett t.ex tj tri tzn tzv vgl viz yrd z.B örn özv śp αγ βλ δηλ
    δρ κ κα καθ κος κυρ λεωφ οδ π.χ акад бул вул г г-жа г-н ген гр дер доц инж наб напр обл оз пгт пер пл пос пров
    просп проф респ св см т.е т.к тов ул ім גב أ د م कु डॉ पं प्रो श्री सुश्री ดร นพ ผศ รศ ศ
    """
)

NUMBERS = _words(
    """
    No Nos abb abr abs abzgl ago al alin anm apdo apie apm app approx apr aprox art att aufl aug av avr bab bd bde bk
    blz br böl c ca cap cca ch chap cilt cit d dec des dez dic déc ed ene env eq eqs est etwa ex exkl ext feb febr fej
    fev fig figs fn fri févr geb gen gest ggf giu gl god godz helmik hfst hlm hod hr höchst i inkl jan janv jg jl jln
    joon juil jul jun jän kap kb kl klo ks kuv köt lent lk lpp lug luku mag mai maks mar max may md min mind mon mrt
    màx máx mär mín n nn no nod noin nos nov nr nro nrs num nº núm obr oct ods odst ok okt old op ott out p pag pagg
    par para pav pkt plkst pogl poz pp ps psl pst pt ptk puh pàg pág págs r raum rn rozdz roč rys s sat sec sect sep
    sept set sid side sk sl sn ss st stk str sun sv sz số t tab tammik taul tel telp tfno tgl th thu thur thurs tlf tp
    tr tue tues tél u ua ust v val ver vers vol vols vs vuos vv vyd wed wyd yakl zi ziff zob zv zzgl ábra éd č čl čís
    đt ř şek št άρθρ απρ αρ αριθ αυγ δεκ εικ ελάχ ιαν ιουλ ιουν κεφ μέγ μαρ νοε οκτ πίν περ σ σελ σεπ σσ τ τηλ τομ φεβ
    авг ал ап апр бер бл буд вер вып гл груд д дек ет жовт изд июл июн кв квіт корп лип лист лют макс мал мар мин мін
    нояб ок окт п пп разд рис розд с сент серп ст стор стр січ т табл тел трав февр фиг черв чл янв ج رقم ص ط नं पृ सं
    №
    """
)

OTHERS = _words(
    """
    A.C A.D A.M Abb Abt Abw Adr Akt Alm Ant Apt Ariz Ausg Ausschl Av Avda Ave B.V Ber Bhf Bibl Bldg Blvd Bros Bt C C.F
    C.O.D C.P C.S C.V Cad Calif Chin Chr Cia Co Conn Corp Ctra Cía D.C Desc Desv Dim Dipl.-Ing Dipl.-Kfm Dir Dto Dtzd
    Dª EE Einh Emm Erf Esq Exc Excma Excmas Excmos Exec Exma Exmas Exmos F.f FF.CC Fla Folg Gb Gebr Geograph Ges Gesch
    H.P Hbf Hon.B.A Hptst Hwy Hz I.D I.T Ilma Ilmas Ilmos Inc Inh J.-C J.B J.D J.K JJ.OO Jahrh Jh Jhd Jhdt Jl Jr K.R
    Kab Kans Kap Kec Kfm Kft Konv Kop L.A L.P L.go Lcda Lcdo Lda Lev Liv Ln Lt.Cdr Ltd Ltda Ltdo M M.I.T M.R M.S M.T
    M.Ö Mah Mass Max Mb Mich Min Minn Mio Mrd Msp N.B N.Sra N.T N.V N.Y N.d.A N.d.E N.d.T Nebr Nr O.M O.d.G Okla Org
    P.-D P.M P.O P.V PT Penn Pfd Pg Ph.D Phys Pl Prot Prov Proz Qu R R.D R.L R.T R.U RR.HH Rd Rdo Rdos Reg.-Bez Rt Rte
    Rvdmo Rvdmos Rvdo Rvdos S.A S.A.R S.E S.M.A.R.T S.p.A S.r.l SS.AA SS.MM San Schr Sdad Seg Sek Sok Spezif Sq Sr St
    Sta Std Ste Sto Str Sts Tab Tel Tenn Tic Trab Tsd Tägl U.S U.S.A U.S.C U.U UU Ud Uds Ursprüngl V.Ex V.T Vd Vda Vds
    Vossa Vt W.C Wash Wis Wyo Yr Zt Ztr a.C a.D a.M a.Rh a.a.O a.a.S a.g.e a.m a.n a.s a.u.b abbr abzgl acoust adj adm
    adr adv aer afd afma afmas afmo afmos ag agric aj al allg amtl anat anc ang angl anon ap apart apod append approx
    apt arch arit arqueol arquit assn assoc astron atd atte atď autom aux av avg bco bd beil bes betr bez bijv biogr
    bkz bl bl.a bol boul bras broch bspw bull bv c.-à-d c.c.p c.so c/c ca caps categ cd cdn cf cfr collab compl config
    contab créd cu cx càd círc cód d.C d.Hr d.J d.a d.d d.h d.o.o d.p.R d.v.s d.w.z d.Ä dcha dept depto deptos ders
    desc desgl dgl dict dies dim dipl dist dkk dll dpt dpto dptos ds dsb dst dtor dvs déb dép e.V e.Wz e.g e.h ecc educ
    ehem eigtl einschl ej ekskl el elem eletr eletrôn eli encycl eng entspr env enz erw es esim esq etc ev event evt
    evtl ex excl exec exempl exkl f.eks fam fasc fem ff fg filos fisiol forts fot fr.o.m frz ft fís geb gedr gek gem
    gesch gest ggf ggfs gm gouv govt gr gram graph gên hab hg hnos hpts hr hrs hrsg hôp i.A i.B i.H i.J i.R i.V i.d.R
    i.e i.v.m ibid ift ill illus illustr im imm imprim incl indus ingl inkl insb insbes intl ipd itd itp izq jew jf jfr
    jhrl jmf jne jue jur jw k.a k.u.k kath kb kfm kgl kork krt kt kč lb lbs ld led licda licdo lin liter lt lun lyh m.E
    m.W m.b.t m.in m.m m.n m.v matem max mdr mfg mfl mfszt mha mht mia mil milj mill min mins mio misc mié mj mld mln
    mlrd mm mrd ms mss mtl mtro mv máq méd möbl mús n.e n.l n.u.Z napr např natl neol nk np npr ns nt ntra ntro nám
    náut näml o.B o.a o.d o.g o.p o.ä od odn odont odontol ong org organiz orig os osv oz oziroma p.Adr p.ej p.es p.ex
    p.g.a p.i p.m p.n.e p.zza pal pan pga piem pl popř por pow pq profa prov príp próx psicol publ pvm pvz płd płn př
    qqch qqn quart quím r.s.v.p rag ref relat repr resp rev réf röm röm.-kath s.a s.o s.r.o s.t s.u sc schles schweiz
    schwäb secs sez sig.na sig.ra sl sociol sog sq sras sres srs st stb str symb syn synt synth syst szül sáb séc südd
    t.a.v t.ex t.i t.o.m t.s t.t t.y tav tbsp tc tec tecnol tel temp tex tidl tis tj tms tr trad trans transp trav ts
    tsb tsp tys tzn tzv tzw tägl tít tř u u.A.w.g u.U u.a u.c u.v.a u.ä ui ul ungef univ urspr usw utt v.Chr v.H v.R.w
    v.T v.gr v.le v.u.Z v.v vb vd vedr verf verh verw vgl vha vid viz vr vrt vs vt vö vč wg woj wsch wt ww yd ym yms
    yth yy z.B z.Hd z.Z z.g.a.n zach zit zob zuz zvl zzgl zł álg édit équiv éval índ î.Hr örn österr ún übers św Şti
    ș.a Α.Ε Ε.Ε βλ δηλ δισ εκατ κ.ά κ.λπ κ.ο.κ κλπ κτλ λ.χ μ.Χ μ.μ π.Χ π.μ π.χ πρβλ τ.μ χιλ авт букв вв вж гг гр грн
    див до др и.о им кг коп лв мин млн млрд н.э напр обл отд пер пор пр р-н ред рр руб сек см соотв сост ср срв ст т.д
    т.е т.к т.н т.п тис тобто тыс хил ін օր և.ն ა.შ ე.ი მაგ
    """
)

STARTERS = _words(
    """
    a aan aber aceasta această acest acesta acolo acum ad además adesso after aga agora ahir ahora ahí aici això ako
    aku al albo alcuni ale alebo alguien algunos alguns alguém ali all alla alle allerdings alles allons allora allt
    allà allí alors als also alt although always além am ama amanhã amikor an anche and anda anh ano another anyone ao
    apa apoi après aquel aquela aquele aquella aquest aquesta aqui aquí ara are as at atau au auch aucun auf
    aujourd'hui aux außerdem avant avec avui ayer az azi azok aztán bagaimana bagefter because before bei beide beim
    belki ben bij bir bis bitte biz bo both bu bugün bunlar burada but byl byla bütün bạn cada can can't car care ce
    ceci cela certains ces cet cette chaque che chez chi chúng ci cine co com combien come comme comment como con could
    cu cuando cum cuál cuándo cuánto czy când có cómo cô da daar dabei dadurch daher dal damit dan danach danas dann
    dans dar dari das dat de del della dem demain demà den denn denna denne depois depuis der deras dere deres des
    desde deshalb després después dessa det detta dette deze di dia did didn't die dies diese dieser dieses din disse
    dit dla dlaczego dnes do doch does domani don't donc dopo dort dove du dzisiaj dziś där då dónde dün e ea each een
    efter egli egy ehkä ei eilen ein eine einen einige el ela elas ele eles ell ella ellas elle eller elles ello ellos
    ells els em en ensuite entonces então er era es esa esas ese eso esos essa essas esse esses esso est esta estas
    este estes esto estos et ett etter eu even every everybody everyone evet ez ezek few fiecare finally foi for forse
    fra from från fue för före før für gdje gdy gdzie geen gestern gisteren gli ha haar had han hangi hans hari has
    hasta have hay hayır he he's hendes hennes her here het heute hier hij his hiç hoe hogy hoje hol holnap hon how
    however hoy hun huomenna hur hva hvad hvem hvilken hvis hvor hvordan hvorfor há hän här hôm họ i i'm i've ich ici
    idag iemand ieri if igen igår ihr ihre ik ikke il ili ils im imorgon in ingen inget ini inoltre instead inte intet
    io is isn't isso isto it it's its itt itu ja jag jah jak je jede jeder jedoch jeg jego jeho jej jejich její jer
    jeres jetzt jij jika jo joo jos jouw jullie just jutro jučer já kada kaikki kako kami kamu kanske kanskje karena
    każdy každý kde kdo když ke kein keine keiner kes ketika keď khi không ki kiedy kim kita koska který kto ktorý ktoś
    który kui kuidas kuka kukaan kun kus kyllä la las later le lei leider les let let's leur leurs lo loro lorsque los
    lub luego lui là lá lì ma maar mai maintenant mais man mana manche mange many mas maybe mañana me meanwhile med
    mehr mein meine melyik men mengapa merci mereka mert mes met meu mi mia mijn miks miksi mikä min minden mindenki
    mindig minha minä mio mis misschien missä mit miten mitä miért mnoho moja moje molti mon moni moreover morgen most
    może možda možno možná muchos muitos mutta my myös mâine många måske mój môj můj na nach nad nada nadie nas nasz
    nasıl ne nebo neden nee nei nein nej nel nella nem nerede nessuno never nhưng ni nic nicht nichts niciodată nie
    niemand niente niet niets nigdy nikad nikdo nikdy nikt nikto nimeni nimic ninguém ningú nitko nič ništa no nobody
    nobody's noch noen nogen noi non nos nosaltres nosotros nossa nosso nostra nostro not nothing notre nous now nu
    nuestra nuestro nulla nun nunca nuo nur nyt náš não nämä när nå någon når nó nós nüüd někdo nếu o ob och också od
    oder often og oggi ogni også om omdat on ona once onde one oni onlar only ono ons ontem onze ook op ora orada os
    others ott ou oui our ovaj ovdje ovo où pak par para pas pendant pentru per perché perhaps pero perquè personne
    però peut-être please plusieurs po poate poi por porque potem potom potser pour pourquoi pred pretože prečo pro
    protože proč przed przez puis på před při qua qual qualcuno quale quan quand quando quanto que quel quella quelle
    quelli quello quelqu'un quem questa queste questi questo qui quizá quizás quién quoi què qué res rien s sa sada
    sans sau saya schon se seal sedan see sein seine seit seitdem sekarang sem semmi sempre semua sen senki senza ses
    seu seus several she she's should si siapa sie siellä siempre siin siis sim sin since sinä sitten siz so sobre soha
    some somebody someone something sometimes son sonra soon sous später su sua suas suddenly suo sur sus sutra sve svi
    så sì sí ta tady tai taj tak također také tal talvez talán tam también també também tamo tamten tapi tato te tegnap
    ten tento teraz tes tetapi teď też that that's the their then there there's therefore these they they're this those
    thus ti tidak tiež til till tko to toate toch toda todas today todo todos toen tomorrow ton tot toto tots tous tout
    toute toutes toți trotzdem tu tudo tuo tus tutti tutto ty tá tämä täna tänään täällä tôi tú u uden uit um uma umas
    un una unas und unde une uno unos uns unser unsere usted ustedes utan uten uvijek v vad vagy valaki van vandaag var
    varför ve veel vem veya vi viele vielleicht vilken você vocês voi voici voilà von voor vor vores vos vosaltres
    vosotros votre vous vy và vår vì vós või včera všechno všetci všichni vždy w waar waarom wann wanneer want warum
    was wat wczoraj we we're weil welke wenn wer were what when where which while who whom whose why wie wielu wij will
    wir with without wo wohin would wszyscy wszystko wy y ya yarın yes yesterday yo you you're your z zajtra zatim
    zawsze zašto zda ze zij zijn zonder zu zuerst zum zur zwar zítra à áno ça çünkü è é él én és în čo đây đó ő ők
    şimdi şu što și ένα ένας ή ήταν ίσως αλλά αν αυτή αυτοί αυτό αυτός αύριο γιατί δεν είναι εγώ εδώ εκεί εμείς επίσης
    εσείς εσύ η θα και κανείς μία μετά μια ναι ο οι πάντα ποια ποιος ποτέ πού πώς σήμερα στη στην στο τίποτα τα την τι
    το τον των τώρα χθες όλα όλοι όταν όχι ύστερα а або аз ако але в ви вие винаги вона вони воно все всегда всеки
    всички всё вчера вчора вы він где да де для днес до его ее если её завжди завтра зараз затем зачем защо защото
    здесь и из или их й його каждый как какво какой когато когда кожен кой коли кто кто-то куда къде ми многие може
    может мой моя мы мій на наш не нет ние никога никогда никой никто ничто нищо но ні ніколи ніхто ніщо он она они оно
    от перед по после потом потому потім почему при після с сега сегодня сейчас след също сьогодні та тази так также
    також там те тези тепер теперь ти то това този той тому тот тук тут ты тя у усі утре хто це цей ця ці чому что що
    эта эти это этот я як якщо і їх її
    """
)

PARTICLES = _words(
    """
    a al ali ben d da de del della den der des di do dos du e el han i kan kim l la las le lei les los lui mac mc mia
    min noi o san sen sin ten ter van von y
    """
)

DETERMINERS = _words(
    """
    ab am az beim bereits bis d d' das dein deine dem den der des det die diese diesem diesen dieser dieses dne dnia
    dňa ein eine einem einen einer eines euer eure ihr ihre ihrem ihren ihrer im ins jede jedem jeden jeder jedes k ke
    mein meine meinem meinen na nach od po pred prije przed på před sein seine seinem seinen seiner seit u und unser
    unsere unserem unseren v ve ved vo vom vor w we z ze zo zum zur zwischen
    """
)

MONTHS = _words(
    """
    Abschnitt Advent Akt Apr April Auflage Aug August Band Buch Bundesliga Dez Dezember Etage Feb Febr Februar Folge
    Gang Geburtstag Grad Halbjahr Halbzeit Jahr Jahrhundert Jahrhunderts Jahrtausend Jahrtausends Jan Januar Jh Jhd Jul
    Juli Jun Juni Jänner Kapitel Klasse Lebensjahr Liga Mai Mal Monat Mär März Nov November Okt Oktober Person Platz
    Quartal Reihe Runde Satz Semester Sep Sept September Staffel Stock Stockwerk Tag Teil Weltkrieg Weltkrieges
    Weltkriegs Woche april august augusztus března czerwca december dubna dünya februar február grudnia januar január
    juli juni július június května kwietnia ledna lipca listopada listopadu lutego maailmansota maj maja marca marts
    május március november oktober október października prosince sajand september sierpnia srpna století stycznia
    szeptember század sınıf világháború wieku września yüzyıl yüzyılda září április århundrede února července června
    října
    """
)

LETTERS = _words(
    """
    act anhang annexe answer appendix block bokstav book buchstabe buchstaben categoria category catégorie chapter
    choice clase class classe column exit form gate grade group groupe grupa grupo grupp gruppe gruppo guerra guerre
    hepatitis item kapitel kategorie key klasse krieg letra letter lettera lettre level line litera model niveau note
    opción option opção part piano plan plano platform plán point punkt písmeno reihe room row ryhmä scene schedule
    section skupina team teil tipo typ type variant variante version vitamiini vitamin vitamina vitamine vitamins war
    world zone βιταμίνη ομάδα σχέδιο витамин группа класс план тип
    """
)

INTERJECTIONS = _words(
    """
    ah ay e go hello hey hola jeopardy joomla mamma oh oklahoma panic viva wham wow yahoo yum
    """
)

__all__ = [
    "DETERMINERS",
    "END_MARKS",
    "INTERJECTIONS",
    "LETTERS",
    "MONTHS",
    "NUMBERS",
    "OTHERS",
    "PARTICLES",
    "STARTERS",
    "TITLES",
]
