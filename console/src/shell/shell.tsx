import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { sessionQuery, signOut } from '../api/session';
import { Button } from '../design/button';
import { messageOf } from '../design/states';
import { useToast } from '../design/toast';
import { fill } from '../format';
import icon from '../icon.svg';
import { TEXTS } from '../texts';
import { NotShown } from './allowed';
import { NAVIGATION, type Role, reaches } from './navigation';
import { OfflineBanner } from './offline-banner';
import { StaleBanner } from './stale-banner';
import { StoppedBanner } from './stopped-banner';
import { applyTheme, chosenTheme, THEMES, type Theme } from './theme';
import './shell.css';

const { shell, nav } = TEXTS;

/** What stands around every page of a person who is signed in. */
export function Shell() {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const { data: user } = useQuery(sessionQuery);
  // Until it is known, nothing is hidden, so that the menu does not jump for most.
  const role = user?.role ?? 'owner';
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when the page changes
  useEffect(() => setMenuOpen(false), [path]);
  return (
    <>
      <a className="skip" href="#main">
        {shell.skip}
      </a>
      <div className="shell">
        <header className="top">
          <div className="row">
            <Button
              small
              className="menu-button"
              aria-expanded={isMenuOpen}
              aria-controls="menu"
              onClick={() => setMenuOpen(!isMenuOpen)}
            >
              {isMenuOpen ? shell.closeMenu : shell.menu}
            </Button>
            <Link to="/" className="brand">
              <img src={icon} alt="" width={24} height={24} />
              <span className="brand-name">{TEXTS.product}</span>
            </Link>
          </div>
          <PersonBar />
        </header>
        <div className="banners">
          <OfflineBanner />
          <StaleBanner />
          <StoppedBanner />
        </div>
        <nav id="menu" className={isMenuOpen ? 'side is-open' : 'side'} aria-label={shell.navigation}>
          {menuOf(role).map(({ title, places }) => (
            <div key={title}>
              <h2>{title}</h2>
              <ul>
                {places.map(({ to, label, exact }) => (
                  <li key={to}>
                    <Link to={to} activeOptions={{ exact, includeSearch: false }}>
                      {label}
                    </Link>
                  </li>
                ))}
              </ul>
            </div>
          ))}
          <div className="account-place">
            <ul>
              <li>
                <Link to="/account">{nav.account}</Link>
              </li>
            </ul>
          </div>
          <div className="hidden-places">
            <NotShown labels={hiddenFrom(role)} />
          </div>
        </nav>
        <main id="main" className="main" tabIndex={-1}>
          <Outlet />
        </main>
      </div>
    </>
  );
}

/** Places where the role may do something. */
const menuOf = (role: Role) =>
  NAVIGATION.map(({ title, places }) => ({
    title,
    places: places.filter(({ from }) => reaches(role, from)),
  })).filter(({ places }) => places.length > 0);

const hiddenFrom = (role: Role) =>
  NAVIGATION.flatMap(({ places }) =>
    places.filter(({ from }) => !reaches(role, from)).map(({ label }) => label),
  );

function PersonBar() {
  const { data: user } = useQuery(sessionQuery);
  const [theme, setTheme] = useState<Theme>(chosenTheme);
  const [isLeaving, setLeaving] = useState(false);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const say = useToast();
  const choose = (chosen: Theme) => {
    applyTheme(chosen);
    setTheme(chosen);
  };
  const leave = async () => {
    setLeaving(true);
    try {
      await signOut();
      // The session is over, whatever the page would ask before it is left.
      await navigate({ to: '/sign-in', search: {}, ignoreBlocker: true });
      // What was read must not wait for the next person at this browser.
      queries.clear();
    } catch (error) {
      say(messageOf(error), { bad: true });
      setLeaving(false);
    }
  };
  return (
    <div className="row">
      <label className="only-heard" htmlFor="theme">
        {shell.theme}
      </label>
      <select
        id="theme"
        className="input"
        value={theme}
        onChange={({ target }) => choose(target.value as Theme)}
      >
        {THEMES.map((one) => (
          <option key={one} value={one}>
            {shell.themes[one]}
          </option>
        ))}
      </select>
      {user && (
        <Link to="/account" className="who" title={fill(shell.signedInAs, { email: user.email })}>
          <span className="only-heard">{nav.account}: </span>
          {user.email}
        </Link>
      )}
      <Button small busy={isLeaving} onClick={leave}>
        {shell.signOut}
      </Button>
    </div>
  );
}
