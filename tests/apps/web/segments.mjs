// Segments of texts as JavaScript finds them: `node segments.mjs BROWSER INPUT`, see test_text_rules.py.
import fs from "node:fs";

const [folder, input] = process.argv.slice(2);
const { Rules, size, strip } = await import(`${folder}/rules.js`);
const { segmentText, modelText, hasMore, asWritten, spacedParts } = await import(`${folder}/segments.js`);
const { findProblem } = await import(`${folder}/checks.js`);
const { locate, putSpans, without } = await import(`${folder}/spans.js`);
const { endOf, lowerStart, withEnd } = await import(`${folder}/labels.js`);
const { rules: data, texts, models, longest, codes } = JSON.parse(fs.readFileSync(input, "utf8"));
const rules = new Rules(data);
// Characters from the start, where UTF-16 has more units.
const place = (text, unit) => size(text.slice(0, unit));
const fits = (text) => size(text) <= longest;

const found = texts.map(([text, target]) =>
  models.map((model) => {
    const segments = segmentText(rules, text, fits, model);
    const read = segments.map((segment, index) => modelText(rules, segment, !segment.copied && hasMore(segments, index)));
    const written = segments.map((segment, index) => (segment.copied ? segment.text : asWritten(rules, segment, read[index])));
    const end = endOf(rules, text);
    const spansOf = (whole) =>
      rules.all("span", whole).filter(([one]) => strip(one)).map((one) => [one.index, one.index + one[0].length]);
    return {
      end: [end.kind, end.mark, place(text, end.start)],
      ended: codes.map((code) => withEnd(rules, target, end, code)),
      lowered: codes.map((code) => lowerStart(rules, text, spansOf(text), target, spansOf(target), code)),
      segments: segments.map((one) => ({ ...one, spans: one.spans.map((span) => span.map((unit) => place(one.text, unit))) })),
      read,
      joined: spacedParts(rules, segments, written).flat().join(""),
      problem: findProblem(rules, text, target, model, model.languages),
      located: segments.map((one) => locate(one.text, one.spans, target)?.map((span) => span.map((unit) => place(target, unit))) ?? null),
      without: segments.map((one) => without(one.text, one.spans).text),
    };
  }),
);
process.stdout.write(JSON.stringify(found));
