import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueries } from './api/queries';
import { sessionQuery } from './api/session';
import { Toasts } from './design/toast';
import { createConsoleRouter } from './router';
import { applyTheme, chosenTheme } from './shell/theme';
import './design/tokens.css';
import './design/base.css';
import './design/components.css';

applyTheme(chosenTheme());

const queries = createQueries({
  // The routes ask for the session again, and lead to the sign-in page and back.
  onSignedOut() {
    queries.removeQueries({ queryKey: sessionQuery.queryKey });
    void router.invalidate();
  },
  // The role may be another by now, and the page shows what it may do.
  onForbidden: () => void queries.invalidateQueries({ queryKey: sessionQuery.queryKey }),
  // Nothing on the page is of the other person's workspace.
  onAnotherUser: () => location.assign('/console/'),
});
const router = createConsoleRouter(queries);

const place = document.getElementById('root');
if (!place) throw new Error('index.html has no place for the console');
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Toasts>
        <RouterProvider router={router} />
      </Toasts>
    </QueryClientProvider>
  </StrictMode>,
);
