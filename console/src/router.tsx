import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { isProblem } from './api/problem';
import { sessionQuery } from './api/session';
import type { RecipientFilter } from './campaigns/campaign-queries';
import { isChannel, isState } from './campaigns/campaign-words';
import type { CampaignFilter } from './campaigns/campaigns-query';
import { NotFoundPage } from './shell/not-found-page';
import { PageError } from './shell/page-error';
import { Shell } from './shell/shell';

/**
 * Every address of the console. Pages are loaded when they are first opened, each as a file of its own, so that the
 * first load stays small.
 */
interface Context {
  queries: QueryClient;
}

const root = createRootRouteWithContext<Context>()({ component: Outlet });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search): { back?: string; error?: string } => ({
    ...textOf(search, 'back'),
    ...textOf(search, 'error'),
  }),
  component: lazyRouteComponent(() => import('./sign-in/sign-in-page'), 'SignInPage'),
});

/** Everything else is for people who are signed in; the others are led back to where they wanted to go. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: Shell,
  beforeLoad: async ({ context: { queries }, location }) => {
    // A refused log-in at the OpenID provider leads here. It is said to a person who still has a session as well, because
    // they would otherwise take that session for the one they asked for.
    const { error: refusal } = location.search as { error?: unknown };
    if (location.pathname === '/' && refusal) {
      throw redirect({ to: '/sign-in', search: { error: String(refusal) } });
    }
    try {
      return { user: await queries.ensureQueryData(sessionQuery) };
    } catch (error) {
      if (!isProblem(error, 401)) throw error;
      throw redirect({ to: '/sign-in', search: location.href === '/' ? {} : { back: location.href } });
    }
  },
});

const home = createRoute({
  getParentRoute: () => signedIn,
  path: '/',
  component: lazyRouteComponent(() => import('./home/home-page'), 'HomePage'),
});

const campaigns = createRoute({
  getParentRoute: () => signedIn,
  path: '/campaigns',
  validateSearch: (search): CampaignFilter => ({
    ...textOf(search, 'search'),
    ...textOf(search, 'tag'),
    ...textOf(search, 'from'),
    ...textOf(search, 'to'),
    ...oneOf(search, 'status', ['active', 'paused', 'completed']),
    ...oneOf(search, 'order', ['oldest', 'name']),
    ...(isChannel(search.channel) ? { channel: search.channel } : {}),
    ...(search.archived === true ? { archived: true } : {}),
    ...(Number.isInteger(search.page) && Number(search.page) > 1 ? { page: Number(search.page) } : {}),
  }),
  component: lazyRouteComponent(() => import('./campaigns/campaigns-page'), 'CampaignsPage'),
});

const campaign = createRoute({
  getParentRoute: () => signedIn,
  path: '/campaigns/$id',
  component: lazyRouteComponent(() => import('./campaigns/campaign-page'), 'CampaignPage'),
});

const campaignOverview = createRoute({
  getParentRoute: () => campaign,
  path: '/',
  component: lazyRouteComponent(() => import('./campaigns/overview-part'), 'OverviewPart'),
});

const campaignPeople = createRoute({
  getParentRoute: () => campaign,
  path: '/recipients',
  validateSearch: (search): RecipientFilter => ({
    ...textOf(search, 'search'),
    ...textOf(search, 'code'),
    ...textOf(search, 'runId'),
    ...(isState(search.state) ? { state: search.state } : {}),
    ...(isChannel(search.channel) ? { channel: search.channel } : {}),
  }),
  component: lazyRouteComponent(() => import('./campaigns/people-part'), 'PeoplePart'),
});

const campaignStory = createRoute({
  getParentRoute: () => campaign,
  path: '/recipients/$recipientId',
  component: lazyRouteComponent(() => import('./campaigns/story-part'), 'StoryPart'),
});

const campaignRuns = createRoute({
  getParentRoute: () => campaign,
  path: '/runs',
  component: lazyRouteComponent(() => import('./campaigns/runs-part'), 'RunsPart'),
});

const campaignSettings = createRoute({
  getParentRoute: () => campaign,
  path: '/settings',
  component: lazyRouteComponent(() => import('./campaigns/settings-part'), 'SettingsPart'),
});

const newCampaign = createRoute({
  getParentRoute: () => signedIn,
  path: '/new-campaign',
  component: lazyRouteComponent(() => import('./new-campaign/new-campaign-page'), 'NewCampaignPage'),
});

const templates = createRoute({
  getParentRoute: () => signedIn,
  path: '/templates',
  validateSearch: (search): Paged & { channel?: Channel; order?: TemplateOrder } => {
    const channel = CHANNELS.find((one) => one === search.channel);
    const order = TEMPLATE_ORDERS.find((one) => one === search.order);
    return { ...pagedOf(search), ...(channel && { channel }), ...(order && { order }) };
  },
  component: lazyRouteComponent(() => import('./templates/templates-page'), 'TemplatesPage'),
});

const newTemplate = createRoute({
  getParentRoute: () => signedIn,
  path: '/templates/new/$channel',
  params: {
    parse: ({ channel }): { channel: Channel } => ({
      channel: CHANNELS.find((one) => one === channel) ?? 'email',
    }),
    stringify: ({ channel }) => ({ channel }),
  },
  component: lazyRouteComponent(() => import('./templates/new-template-page'), 'NewTemplatePage'),
});

const template = createRoute({
  getParentRoute: () => signedIn,
  path: '/templates/$templateId',
  validateSearch: ({ view }): { view?: 'test' | 'versions' } =>
    view === 'test' || view === 'versions' ? { view } : {},
  component: lazyRouteComponent(() => import('./templates/template-page'), 'TemplatePage'),
});

const contacts = createRoute({
  getParentRoute: () => signedIn,
  path: '/contacts',
  validateSearch: (search): Paged & { view?: 'lists' | 'people' } => ({
    ...pagedOf(search),
    ...(search.view === 'people' ? { view: 'people' } : {}),
  }),
  component: lazyRouteComponent(() => import('./contacts/contacts-page'), 'ContactsPage'),
});

const contactList = createRoute({
  getParentRoute: () => signedIn,
  path: '/contacts/lists/$listId',
  validateSearch: (search): { search?: string } => textOf(search, 'search'),
  component: lazyRouteComponent(() => import('./contacts/list-page'), 'ListPage'),
});

const contactImport = createRoute({
  getParentRoute: () => signedIn,
  path: '/contacts/lists/$listId/import',
  component: lazyRouteComponent(() => import('./contacts/import-page'), 'ImportPage'),
});

const contact = createRoute({
  getParentRoute: () => signedIn,
  path: '/contacts/$contactId',
  component: lazyRouteComponent(() => import('./contacts/contact-page'), 'ContactPage'),
});

const suppression = createRoute({
  getParentRoute: () => signedIn,
  path: '/suppression',
  validateSearch: (search): Paged & { channel?: Channel | 'all' } => {
    const channel = [...CHANNELS, 'all' as const].find((one) => one === search.channel);
    return { ...pagedOf(search), ...(channel && { channel }) };
  },
  component: lazyRouteComponent(() => import('./suppression/suppression-page'), 'SuppressionPage'),
});

const webhooks = createRoute({
  getParentRoute: () => signedIn,
  path: '/webhooks',
  component: lazyRouteComponent(() => import('./webhooks/webhooks-page'), 'WebhooksPage'),
});

const webhook = createRoute({
  getParentRoute: () => signedIn,
  path: '/webhooks/$webhookId',
  component: lazyRouteComponent(() => import('./webhooks/webhook-page'), 'WebhookPage'),
});

const policy = createRoute({
  getParentRoute: () => signedIn,
  path: '/policy',
  component: lazyRouteComponent(() => import('./policy/policy-page'), 'PolicyPage'),
});

const carriers = createRoute({
  getParentRoute: () => signedIn,
  path: '/carriers',
  validateSearch: ({ view }): { view?: 'routes' | 'senders' } =>
    view === 'routes' || view === 'senders' ? { view } : {},
  component: lazyRouteComponent(() => import('./carriers/carriers-page'), 'CarriersPage'),
});

const access = createRoute({
  getParentRoute: () => signedIn,
  path: '/access',
  validateSearch: ({ view }): { view?: 'clients' | 'keys' } =>
    view === 'clients' || view === 'keys' ? { view } : {},
  component: lazyRouteComponent(() => import('./access/access-page'), 'AccessPage'),
});

const audit = createRoute({
  getParentRoute: () => signedIn,
  path: '/audit',
  validateSearch: (search): { [filter in 'actor' | 'action' | 'object' | 'from' | 'to']?: string } => ({
    ...textOf(search, 'actor'),
    ...textOf(search, 'action'),
    ...textOf(search, 'object'),
    ...textOf(search, 'from'),
    ...textOf(search, 'to'),
  }),
  component: lazyRouteComponent(() => import('./audit/audit-page'), 'AuditPage'),
});

const system = createRoute({
  getParentRoute: () => signedIn,
  path: '/system',
  component: lazyRouteComponent(() => import('./system/system-page'), 'SystemPage'),
});

const account = createRoute({
  getParentRoute: () => signedIn,
  path: '/account',
  component: lazyRouteComponent(() => import('./account/account-page'), 'AccountPage'),
});

const tree = root.addChildren([
  signIn,
  signedIn.addChildren([
    ...[home, campaigns, newCampaign],
    campaign.addChildren([campaignOverview, campaignPeople, campaignStory, campaignRuns, campaignSettings]),
    ...[templates, newTemplate, template, suppression],
    ...[contacts, contactList, contactImport, contact],
    ...[webhooks, webhook, policy, carriers, access, audit, system, account],
  ]),
]);

export function createConsoleRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
    basepath: '/console',
    context: { queries },
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    scrollRestoration: true,
    defaultNotFoundComponent: NotFoundPage,
    defaultErrorComponent: PageError,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}

const textOf = <Name extends string>(search: Record<string, unknown>, name: Name) =>
  (typeof search[name] === 'string' ? { [name]: search[name] } : {}) as { [key in Name]?: string };

const CHANNELS = ['email', 'sms', 'voice'] as const;
type Channel = (typeof CHANNELS)[number];
const TEMPLATE_ORDERS = ['name', 'changed', 'oldest'] as const;
type TemplateOrder = (typeof TEMPLATE_ORDERS)[number];

const oneOf = <Name extends string, const Value extends string>(
  search: Record<string, unknown>,
  name: Name,
  values: readonly Value[],
) =>
  (values.some((one) => one === search[name]) ? { [name]: search[name] } : {}) as { [key in Name]?: Value };

interface Paged {
  page?: number;
  search?: string;
}

/** Page and search of a list, so that its address opens it as it was. */
function pagedOf(search: Record<string, unknown>): Paged {
  const page = Number(search.page);
  return { ...textOf(search, 'search'), ...(Number.isInteger(page) && page > 1 ? { page } : {}) };
}
