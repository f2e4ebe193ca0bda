/** Proves the progress line and the tables of a campaign’s report. */

import { callTable, progressText, summaryTable } from '../../src/cli/campaign-report';

const none = { total: 0, pending: 0, waiting: 0, sending: 0, accepted: 0, sent: 0, delivered: 0, failed: 0 };

test('a message that was handed over counts as done, a call that was placed does not', () => {
  const counts = {
    email: { ...none, total: 10, pending: 2, waiting: 1, accepted: 1, sent: 4, delivered: 2 },
    voice: { ...none, total: 10, waiting: 2, accepted: 1, sent: 4, delivered: 3 },
  };
  expect(progressText({ phase: 'running', counts, skipped: {} }, 12_300)).toBe(
    'running 12 s · email 6/10 (1 later) · voice 3/10 (5 calling, 2 later)',
  );
});

test('the summary has a row for each state and reason that occurs, and a column for each channel', () => {
  const counts = {
    email: { ...none, total: 3, delivered: 2, failed: 1 },
    voice: { ...none, total: 2, delivered: 2 },
  };
  const skipped = { email: { no_address: 4, suppressed: 0 }, voice: { no_address: 0, suppressed: 0 } };
  const table = summaryTable({ phase: 'completed', counts, skipped });
  expect(table.split('\n').map((line) => line.trim().split(/\s{2,}/))).toEqual([
    ['email', 'voice'],
    ['delivered', '2', '2'],
    ['failed', '1', '0'],
    ['recipients', '3', '2'],
    ['Contacts that did not become recipients, by reason'],
    ['no address', '4', '0'],
    [''],
  ]);
});

test('the table of calls says how they ended, and what is no attempt', () => {
  const table = callTable({
    calls: 7,
    open: 1,
    carrierFaults: 1,
    outcomes: { busy: 1, human: 4, failed: 1 },
  });
  expect(table.split('\n').map((line) => line.trim().split(/\s{2,}/))).toEqual([
    ['Calls, by outcome'],
    ['human', '4'],
    ['busy', '1'],
    ['failed', '1'],
    ['not ended', '1'],
    ['calls', '7'],
    ['1 of them could not be placed by their carrier, and count as none.'],
    [''],
  ]);
});
