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
    try {
      return { user: await queries.ensureQueryData(sessionQuery) };
    } catch (error) {
      if (!isProblem(error, 401)) throw error;
      const { error: refusal } = location.search as { error?: string };
      const back = location.href === '/' || refusal !== undefined ? {} : { back: location.href };
      throw redirect({ to: '/sign-in', search: { ...back, ...(refusal ? { error: String(refusal) } : {}) } });
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
  component: lazyRouteComponent(() => import('./campaigns/campaigns-page'), 'CampaignsPage'),
});

const newCampaign = createRoute({
  getParentRoute: () => signedIn,
  path: '/new-campaign',
  component: lazyRouteComponent(() => import('./new-campaign/new-campaign-page'), 'NewCampaignPage'),
});

const templates = createRoute({
  getParentRoute: () => signedIn,
  path: '/templates',
  component: lazyRouteComponent(() => import('./templates/templates-page'), 'TemplatesPage'),
});

const contacts = createRoute({
  getParentRoute: () => signedIn,
  path: '/contacts',
  component: lazyRouteComponent(() => import('./contacts/contacts-page'), 'ContactsPage'),
});

const suppression = createRoute({
  getParentRoute: () => signedIn,
  path: '/suppression',
  component: lazyRouteComponent(() => import('./suppression/suppression-page'), 'SuppressionPage'),
});

const webhooks = createRoute({
  getParentRoute: () => signedIn,
  path: '/webhooks',
  component: lazyRouteComponent(() => import('./webhooks/webhooks-page'), 'WebhooksPage'),
});

const policy = createRoute({
  getParentRoute: () => signedIn,
  path: '/policy',
  component: lazyRouteComponent(() => import('./policy/policy-page'), 'PolicyPage'),
});

const carriers = createRoute({
  getParentRoute: () => signedIn,
  path: '/carriers',
  component: lazyRouteComponent(() => import('./carriers/carriers-page'), 'CarriersPage'),
});

const access = createRoute({
  getParentRoute: () => signedIn,
  path: '/access',
  component: lazyRouteComponent(() => import('./access/access-page'), 'AccessPage'),
});

const audit = createRoute({
  getParentRoute: () => signedIn,
  path: '/audit',
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
    ...[templates, contacts, suppression],
    ...[webhooks, policy, carriers, access, audit, system, account],
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
