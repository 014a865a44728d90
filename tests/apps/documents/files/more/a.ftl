### A comment
sleep = The boy sleeps.
hello =
    Hello { $name }, and
    welcome to { -brand }.
    .title = A title <b>here</b>
emails = You have { $count ->
        [one] one email
       *[other] { $count } emails
    } here.
