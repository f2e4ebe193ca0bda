import { getRouteApi } from '@tanstack/react-router';
import { Page } from '../design/page';
import { Tabs } from '../design/tabs';
import { TEXTS } from '../texts';
import { Clients } from './clients';
import { Keys } from './keys';
import { Users } from './users';

const { access: texts } = TEXTS;
const route = getRouteApi('/signed-in/access');

/** Who may come in: people, programs, and the keys of programs that send. */
export function AccessPage() {
  const { view = 'users' } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <Page title={TEXTS.nav.access} lead={texts.lead}>
      <Tabs
        label={TEXTS.nav.access}
        tabs={[
          { key: 'users', label: texts.users },
          { key: 'clients', label: texts.clients },
          { key: 'keys', label: texts.keys },
        ]}
        chosen={view}
        onChoose={(chosen) =>
          void navigate({ search: chosen === 'users' ? {} : { view: chosen }, replace: true })
        }
      >
        {view === 'users' && <Users />}
        {view === 'clients' && <Clients />}
        {view === 'keys' && <Keys />}
      </Tabs>
    </Page>
  );
}
