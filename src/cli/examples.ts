import type { Command } from 'commander';

/** What `--help` of each command ends with. A test looks for commands without one. */
export function addExamples(command: Command, path = ''): void {
  for (const one of command.commands) {
    const name = path === '' ? one.name() : `${path} ${one.name()}`;
    const example = EXAMPLES[name];
    if (example !== undefined)
      one.addHelpText('after', `\nExample:\n  $ fanfare ${name}${example && ` ${example}`}`);
    addExamples(one, name);
  }
}

/** By command, without its name. */
export const EXAMPLES: Record<string, string> = {
  up: '--demo',
  serve: '',
  worker: '--role sender',
  demo: '',
  doctor: '--json',
  migrate: '--json',
  completion: 'bash > /etc/bash_completion.d/fanfare',
  explain: 'cmp_01kb2dsg0bzype6sbccc8r8kxz ada@example.com',
  stop: '--reason "a wrong price in the spring sale"',
  'campaign list': '--channel sms --status active',
  'campaign create': 'campaign.json',
  'campaign send': '--channel sms --template "Order ready" --from 12345 --to +12025550123',
  'campaign dry-run': 'campaign.json',
  'campaign status': 'cmp_01kb2dsg0bzype6sbccc8r8kxz',
  'campaign runs': 'cmp_01kb2dsg0bzype6sbccc8r8kxz --limit 5',
  'campaign watch': 'cmp_01kb2dsg0bzype6sbccc8r8kxz',
  'campaign start': 'cmp_01kb2dsg0bzype6sbccc8r8kxz',
  'campaign pause': 'cmp_01kb2dsg0bzype6sbccc8r8kxz',
  'campaign resume': 'cmp_01kb2dsg0bzype6sbccc8r8kxz',
  'campaign cancel': 'cmp_01kb2dsg0bzype6sbccc8r8kxz',
  'campaign retry-failed': 'cmp_01kb2dsg0bzype6sbccc8r8kxz --state failed',
  'campaign release': 'cmp_01kb2dsg0bzype6sbccc8r8kxz --stages all',
  'campaign pace': 'cmp_01kb2dsg0bzype6sbccc8r8kxz 25',
  'campaign report': 'cmp_01kb2dsg0bzype6sbccc8r8kxz --csv failed.csv --state failed',
  'contacts import': 'lst_01kbn1x444zs7bz3z3qva8ajt2 customers.csv --country US',
  'contacts timeline': 'con_01kbn1x444zs7bz3z3qva8ajt2 --limit 50',
  'template push': 'templates/',
  'template pull': 'templates/',
  'template preview': 'order-ready.json --params ada.json',
  'user create': '--email grace@example.com --role member',
  'user list': '--limit 50',
  'user role': 'usr_01kbn1x444zs7bz3z3qva8ajt2 admin',
  'user disable': 'usr_01kbn1x444zs7bz3z3qva8ajt2',
  'user enable': 'usr_01kbn1x444zs7bz3z3qva8ajt2',
  'user password': 'usr_01kbn1x444zs7bz3z3qva8ajt2',
  'client create': '--name "Shop backend"',
  'client list': '--json',
  'client rotate': 'cli_01kbn1x444zs7bz3z3qva8ajt2 --overlap-hours 24',
  'client disable': 'cli_01kbn1x444zs7bz3z3qva8ajt2',
  'client enable': 'cli_01kbn1x444zs7bz3z3qva8ajt2',
  'key list': '--limit 50',
  'key create': '--name "Shop backend"',
  'key revoke': 'key_01kbn1x444zs7bz3z3qva8ajt2',
  'workspace create': '"Second shop" --email grace@example.com',
  'sender-limit list': '--json',
  'sender-limit set': '12345 --channel sms --rate 10',
  'sender-limit lift': '12345 --channel sms',
  'message list': '--state failed --from 2026-12-01',
  'message show': 'order-4711-ready',
  'message cancel': 'order-4711-ready',
  'hold set': 'spring-sale',
  'hold release': 'spring-sale',
  'suppression list': '--channel email --search example.com',
  'suppression add': 'ada@example.com --channel email --reason "asked by phone"',
  'suppression import': 'suppressed.csv',
  'suppression lift': 'ada@example.com --channel email',
  'suppression export': 'suppressed.csv',
  'webhook list': '--json',
  'webhook create': 'https://shop.example/hook --event message.* campaign.*',
  'webhook show': 'whk_01kbn1x444zs7bz3z3qva8ajt2',
  'webhook enable': 'whk_01kbn1x444zs7bz3z3qva8ajt2',
  'webhook disable': 'whk_01kbn1x444zs7bz3z3qva8ajt2',
  'webhook delete': 'whk_01kbn1x444zs7bz3z3qva8ajt2',
  'webhook rotate-secret': 'whk_01kbn1x444zs7bz3z3qva8ajt2',
  'webhook test': 'whk_01kbn1x444zs7bz3z3qva8ajt2',
  'webhook deliveries': 'whk_01kbn1x444zs7bz3z3qva8ajt2 --state failed',
  'webhook redeliver': 'whk_01kbn1x444zs7bz3z3qva8ajt2',
};
