import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type SignedMail, signedMails, tamperedMails } from './dkim-mails';

const run = promisify(execFile);

/** Where its packages are; another python3 may come first in the path. */
const DEBIANS_PYTHON = '/usr/bin/python3';

/** The outside opinion: dkimpy, with the key given by hand where it would ask the DNS. */
const VERIFY = `
import sys, json, dkim
mails = json.load(sys.stdin)
for one in mails:
    print(dkim.verify(one['mail'].encode('latin1'), dnsfunc=lambda name, timeout=5: one['record'].encode()))
`;

async function verdicts(mails: SignedMail[]): Promise<string[]> {
  const child = run(DEBIANS_PYTHON, ['-c', VERIFY]);
  child.child.stdin?.end(JSON.stringify(mails));
  return (await child).stdout.trim().split('\n');
}

test('dkimpy verifies what is signed, whatever the mail holds', async () => {
  const mails = await signedMails();
  expect(await verdicts(mails)).toEqual(mails.map(() => 'True'));
}, 150_000);

test('dkimpy finds each change out', async () => {
  const { good, tampered } = await tamperedMails();
  expect(await verdicts([good, ...tampered])).toEqual(['True', ...tampered.map(() => 'False')]);
}, 150_000);
