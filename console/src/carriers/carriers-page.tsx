import { getRouteApi } from '@tanstack/react-router';
import { Page } from '../design/page';
import { Tabs } from '../design/tabs';
import { TEXTS } from '../texts';
import { Accounts } from './accounts';
import { Routes } from './routes';
import { Senders } from './senders';

const { carriers: texts } = TEXTS;
const route = getRouteApi('/signed-in/carriers');

/** By whom messages leave: accounts at carriers, the rules that choose among them, and who owns which sender. */
export function CarriersPage() {
  const { view = 'accounts' } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Page title={TEXTS.nav.carriers} lead={texts.lead}>
      <Tabs
        label={TEXTS.nav.carriers}
        tabs={[
          { key: 'accounts', label: texts.accounts },
          { key: 'routes', label: texts.routes },
          { key: 'senders', label: texts.senders },
        ]}
        chosen={view}
        onChoose={(chosen) =>
          void navigate({ search: chosen === 'accounts' ? {} : { view: chosen }, replace: true })
        }
      >
        {view === 'accounts' && <Accounts />}
        {view === 'routes' && <Routes />}
        {view === 'senders' && <Senders />}
      </Tabs>
    </Page>
  );
}
