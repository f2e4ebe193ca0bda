import { Readable } from 'node:stream';
import fc from 'fast-check';
import { readRecords } from '../../src/csv/csv-records';
import { checkLayout } from '../../src/domain/email-layout';
import { readKeyword } from '../../src/domain/opt-out-keywords';
import { measureSms, outsideGsm7 } from '../../src/domain/sms-encoding';
import { compileText, placeholdersOf } from '../../src/domain/template';
import { checkPlaceholders, lintPlaceholders } from '../../src/domain/template-lint';
import { checkFlow } from '../../src/domain/voice/check-flow';
import { parseVoiceXml } from '../../src/domain/voice/parse-voice-xml';
import { writeVoiceXml } from '../../src/domain/voice/write-voice-xml';
import { derivedText } from '../../src/messaging/templates/template-parts';
import { MAIL_SERVICES } from '../../src/providers/mail-events/mail-services';
import { encodeSms } from '../../src/providers/smpp/encode-sms';
import { decodeGsm7, gsm7Units } from '../../src/providers/smpp/gsm7';
import { readInbound } from '../../src/providers/smpp/inbound-text';
import { newPdu, type Pdu } from '../../src/providers/smpp/library';
import { readReceipt } from '../../src/providers/smpp/receipt-text';
import { readReport } from '../../src/providers/smtp/mail-report';
import { parseReply } from '../../src/providers/smtp/smtp-reply';
import { signedCallbacks, unsignedCallbacks } from './callbacks';
import { mutated } from './mutated';

/** A parser, what it is given, and what has to be true of what it makes of it. A parser that throws has failed. */
export interface Target {
  name: string;
  property: fc.IAsyncProperty<[never]> | fc.IAsyncProperty<unknown>;
}

/** CPU time that one input may take: all of them are short, so that more is a step that is not linear. */
const CPU_MS_MAX = 1_000;

function target<T>(name: string, input: fc.Arbitrary<T>, parse: (input: T) => unknown): Target {
  return {
    name,
    property: fc.asyncProperty(input, async (value) => {
      const before = process.cpuUsage();
      await parse(value);
      const { user, system } = process.cpuUsage(before);
      if (user + system > CPU_MS_MAX * 1_000) throw new Error(`It took ${(user + system) / 1_000} ms of CPU`);
    }),
  };
}

function must(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(what);
}

const CSV = [
  'name,email\nAnna,anna@shop.example\n',
  '\ufeffa;b\r\n"x;""y""\nz";2\r\n',
  'a\tb\n"\t"',
  '"',
  '\r\r\n,',
];
const XML = [
  '<Response><Say voice="a">Hi {{ NAME }}</Say><Gather numDigits="1" action="#a"><Say>1</Say></Gather></Response>',
  '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><Response>&b;&#x1F600;<![CDATA[]]></Response>',
  '<Response><Dial timeout="5">+12025550143</Dial><Hangup/></Response>',
];
const MAIL = [
  'Content-Type: multipart/report; report-type=delivery-status; boundary="b"\r\n\r\n--b\r\n\r\nfailed\r\n--b\r\n' +
    'Content-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; a\r\n\r\nFinal-Recipient: rfc822; x@y.example\r\n' +
    'Action: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; 550 5.1.1 unknown\r\n\r\n--b--\r\n',
  'Content-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n--b\r\nContent-Type: ' +
    'message/feedback-report\r\n\r\nFeedback-Type: abuse\r\nVersion: 1\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nA: b\r\n--b--',
  'Subject: =?utf-8?B?/w==?= =?x?Q?=3?=\r\nAuto-Submitted: auto-replied\r\nContent-Transfer-Encoding: base64\r\n\r\n/w',
];
const TEMPLATES = [
  'Hello {{ NAME }}, {{CODE}} {{ a }} {{{{ NAME }}}}',
  '<p>Hello <b>{{ NAME }}</b> <a href="https://shop.example/{{ CODE }}">x</a></p><table><tr><td>1</table><ul><li>',
  '<!-- {{ X }} --><style>p{}</style><script>x</script>&amp;&#0;&#x110000;<br/',
];
const RECEIPTS = [
  'id:7220bb6b sub:001 dlvrd:001 submit date:2611240930 done date:2611240931 stat:DELIVRD err:000 text:hello',
  'id:1 stat:UNDELIV err:0x0B',
  'ID:ff STAT: done',
];
const REPLIES = ['250 2.0.0 OK', '550-5.1.1 no\r\n550 5.1.1 such user', '421', '2500'];
const KEYWORDS = ['STOP', ' s.t.o.p! ', 'remove me please', 'ARRÊT', 'हटाएं'];
const FLOWS = [
  '{"nodes":[{"id":"a","type":"start","data":{}},{"id":"b","type":"say","data":{"text":"Hi"}}],"edges":[{"source":"a","target":"b"}]}',
];

const pdus: fc.Arbitrary<Pdu> = fc
  .record(
    {
      esm_class: fc.nat(255),
      data_coding: fc.nat(255),
      short_message: fc.oneof(
        fc.uint8Array({ maxLength: 160 }),
        fc.constantFrom(...RECEIPTS.map((text) => Buffer.from(text))),
      ),
      message_payload: fc.uint8Array({ maxLength: 400 }),
      receipted_message_id: fc.string({ maxLength: 70 }),
      message_state: fc.nat(255),
      sar_msg_ref_num: fc.nat(0xffff),
      sar_total_segments: fc.nat(255),
      sar_segment_seqnum: fc.nat(255),
    },
    { requiredKeys: ['short_message'] },
  )
  .map((fields) =>
    newPdu('deliver_sm', {
      ...fields,
      short_message: Buffer.from(fields.short_message),
      ...(fields.message_payload ? { message_payload: Buffer.from(fields.message_payload) } : {}),
    }),
  );

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.string({ unit: 'grapheme', maxLength: 400 }),
);
const chunks = mutated(CSV).chain((bytes) =>
  fc.array(fc.nat(bytes.length), { maxLength: 4 }).map((cuts) => {
    const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
    return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
  }),
);

export const TARGETS: readonly Target[] = [
  target('csv: lines are numbered upwards, however the upload is cut', chunks, async (parts) => {
    let before = 0;
    for await (const { line } of readRecords(Readable.from(parts))) {
      must(line > before, `Line ${line} comes after line ${before}`);
      before = line;
    }
  }),
  target('sms: segments counted are parts sent, and no part is longer than 140 octets', text, (value) => {
    const { segments } = measureSms(value);
    outsideGsm7(value);
    const parts = encodeSms(value, () => 7);
    must(parts.length === segments, `${segments} segments are counted and ${parts.length} sent`);
    const isLonger = parts.some(({ octets, dataCoding }) => octets.length > (dataCoding === 0 ? 160 : 140));
    must(!isLonger, 'A part is longer than an SMS');
  }),
  target('gsm 7: decoding gives what was encoded', text, (value) => {
    const units = gsm7Units(value);
    if (units) must(decodeGsm7(Buffer.from(units.flat())) === value, 'Another text comes back');
  }),
  target('gsm 7: any octets are text', fc.uint8Array({ maxLength: 400 }), (octets) =>
    decodeGsm7(Buffer.from(octets)),
  ),
  target('smpp: any deliver_sm is a text, a receipt, or neither', pdus, (pdu) => [
    readInbound(pdu),
    readReceipt(pdu),
  ]),
  target('keywords', mutated(KEYWORDS), (bytes) => readKeyword(bytes.toString('utf8'))),
  target('voice xml: what is read and written again is read the same', mutated(XML), (bytes) => {
    const { program } = parseVoiceXml(bytes.toString('utf8'));
    if (!program) return;
    const written = writeVoiceXml(program);
    const again = parseVoiceXml(written).program;
    must(again !== undefined && writeVoiceXml(again) === written, 'It is read as another program');
  }),
  target('voice flows', fc.oneof(fc.jsonValue({ maxDepth: 6 }), jsonOf(FLOWS)), (flow) => checkFlow(flow)),
  target('email layouts', fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 6 })), (layout) =>
    checkLayout(layout, 'layout'),
  ),
  target('templates: values are escaped, and every placeholder is declared', mutated(TEMPLATES), (bytes) => {
    const template = bytes.toString('utf8');
    const compiled = compileText(template, 'html');
    const params = Object.fromEntries(compiled.placeholders.map((name) => [name, '<fuzz "\'&']));
    const filled = compiled.render(params);
    for (const name of compiled.placeholders)
      must(placeholdersOf(template).includes(name), `${name} is not declared`);
    must(template.includes('<fuzz') || !filled.includes('<fuzz'), 'A value is not escaped');
    checkPlaceholders([{ path: 'body', text: template }]);
    lintPlaceholders([{ path: 'body', text: template }]);
  }),
  target('html: the plain text is made of any document', mutated(TEMPLATES), (bytes) =>
    derivedText(bytes.toString('utf8')),
  ),
  target('mime: any mail is a report, a complaint, or another mail', mutated(MAIL), (bytes) =>
    readReport(bytes),
  ),
  target('smtp replies', mutated(REPLIES), (bytes) => {
    const reply = parseReply(bytes.toString('utf8'));
    must(!reply || (reply.code >= 200 && reply.code < 600), 'It is no reply');
  }),
  target('callbacks: any signed body is read', signedCallbacks, ({ read, callback, account }) => {
    const { kind } = read(callback, account);
    must(kind === 'read', `A genuine callback was ${kind}`);
  }),
  target(
    'callbacks: nothing without a genuine signature is read',
    unsignedCallbacks,
    async ({ callback, account }) => {
      for (const service of Object.values(MAIL_SERVICES)) {
        const tools = {
          now: Date.now,
          get: () => Promise.reject(new Error('no')),
          isFirstUse: async () => true,
        };
        const reading = await service.read(callback, { ...account, id: 'acc_1' }, tools);
        must(reading.kind !== 'read', 'A forged event was believed');
      }
    },
  ),
];

/** Texts of JSON that still are JSON after what was done to them. */
function jsonOf(seeds: readonly string[]): fc.Arbitrary<unknown> {
  return mutated(seeds).map((bytes) => {
    try {
      return JSON.parse(bytes.toString('utf8'));
    } catch {
      return null;
    }
  });
}
