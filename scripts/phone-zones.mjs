import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Writes src/domain/time-zones/phone-zones-data.ts from `resources/timezones/map_data.txt` of Google's
 * libphonenumber: node scripts/phone-zones.mjs <file>. Its lines are `<prefix>|<zone>&<zone>…`.
 */
const OUTPUT = join(dirname(fileURLToPath(import.meta.url)), '../src/domain/time-zones/phone-zones-data.ts');
const HEAD = `/**
 * Which zones the phone numbers with a prefix may be in, a line for each set of zones. Written by
 * scripts/phone-zones.mjs from resources/timezones/map_data.txt of libphonenumber, in a shorter form:
 *
 * Copyright (C) 2011-2026 The Libphonenumber Authors. Licensed under the Apache License, Version 2.0 (the
 * "License"); you may not use this file except in compliance with the License. You may obtain a copy of the
 * License at http://www.apache.org/licenses/LICENSE-2.0. Unless required by applicable law or agreed to in
 * writing, software distributed under the License is distributed on an "AS IS" BASIS, WITHOUT WARRANTIES OR
 * CONDITIONS OF ANY KIND, either express or implied. See the License for the specific language governing
 * permissions and limitations under the License.
 */
`;

const [source] = process.argv.slice(2);
if (!source) {
  process.stderr.write('usage: node scripts/phone-zones.mjs <map_data.txt>\n');
  process.exit(1);
}

const bySet = new Map();
for (const line of readFileSync(source, 'utf8').split(/\r?\n/)) {
  if (!/^\d+\|/.test(line)) continue;
  const [prefix, zones] = line.split('|');
  const set = zones.trim().split('&').sort().join(' ');
  bySet.set(set, [...(bySet.get(set) ?? []), prefix]);
}
const lines = [...bySet].map(([zones, prefixes]) => `${zones}:${prefixes.sort().join(' ')}`).sort();
writeFileSync(OUTPUT, `${HEAD}export const PHONE_ZONES = \`\n${lines.join('\n')}\n\`;\n`);
