import { NAMES } from '../../src/temporal/launcher';
import * as workflows from '../../workflows';
import * as messages from '../../workflows/messages';

/** The launcher names workflows and messages without loading them; a misspelt name would wait for ever. */
const defined = new Set<string>([
  ...Object.keys(workflows),
  ...Object.values(messages).map((definition) => definition.name),
]);

test.each(Object.entries(NAMES))('what the launcher calls %s exists under that name', (key, name) => {
  expect(name).toBe(key);
  expect(defined).toContain(name);
});
