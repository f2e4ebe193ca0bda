import { TEXTS } from '../texts';

const { nav } = TEXTS;

/** Each may what those before it may (docs/access.md). */
export const ROLES = ['viewer', 'editor', 'sender', 'admin', 'owner'] as const;

export type Role = (typeof ROLES)[number];

export const reaches = (role: Role, lowest: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(lowest);

/**
 * The console's places, in the order of the menu; `exact` marks those with a longer address below them in the menu, `from` is the lowest
 * role that may do anything there.
 */
export const NAVIGATION = [
  {
    title: nav.groups.work,
    places: [
      { to: '/', from: 'viewer', label: nav.home, exact: true },
      { to: '/campaigns', from: 'viewer', label: nav.campaigns, exact: false },
      { to: '/new-campaign', from: 'editor', label: nav.newCampaign, exact: false },
    ],
  },
  {
    title: nav.groups.people,
    places: [
      { to: '/templates', from: 'viewer', label: nav.templates, exact: false },
      { to: '/contacts', from: 'viewer', label: nav.contacts, exact: false },
      { to: '/suppression', from: 'viewer', label: nav.suppression, exact: false },
    ],
  },
  {
    title: nav.groups.settings,
    places: [
      { to: '/webhooks', from: 'viewer', label: nav.webhooks, exact: false },
      { to: '/policy', from: 'viewer', label: nav.policy, exact: false },
      { to: '/carriers', from: 'owner', label: nav.carriers, exact: false },
      { to: '/access', from: 'admin', label: nav.access, exact: false },
      { to: '/audit', from: 'admin', label: nav.audit, exact: false },
      { to: '/system', from: 'viewer', label: nav.system, exact: false },
    ],
  },
] as const;
