import { TEXTS } from '../texts';

const { nav } = TEXTS;

/** The console's places, in the order of the menu; `exact` marks those with a longer address below them in the menu. */
export const NAVIGATION = [
  {
    title: nav.groups.work,
    places: [
      { to: '/', label: nav.home, exact: true },
      { to: '/campaigns', label: nav.campaigns, exact: false },
      { to: '/new-campaign', label: nav.newCampaign, exact: false },
    ],
  },
  {
    title: nav.groups.people,
    places: [
      { to: '/templates', label: nav.templates, exact: false },
      { to: '/contacts', label: nav.contacts, exact: false },
      { to: '/suppression', label: nav.suppression, exact: false },
    ],
  },
  {
    title: nav.groups.settings,
    places: [
      { to: '/webhooks', label: nav.webhooks, exact: false },
      { to: '/policy', label: nav.policy, exact: false },
      { to: '/carriers', label: nav.carriers, exact: false },
      { to: '/access', label: nav.access, exact: false },
      { to: '/audit', label: nav.audit, exact: false },
      { to: '/system', label: nav.system, exact: false },
    ],
  },
] as const;
