import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { isProblem } from '../api/problem';
import { hadSession, isOidcOffered, oidcAddress, sessionQuery, signIn } from '../api/session';
import { Button } from '../design/button';
import { Field } from '../design/field';
import { Page } from '../design/page';
import { ErrorState } from '../design/states';
import { fill } from '../format';
import { TEXTS } from '../texts';

const { signIn: texts } = TEXTS;
const route = getRouteApi('/sign-in');

export function SignInPage() {
  const { back, error } = route.useSearch();
  return (
    <main className="alone" id="main">
      <Page title={texts.title}>
        {back && hadSession() && <p className="notice">{texts.ended}</p>}
        {error && <p className="notice bad">{refusalOf(error)}</p>}
        <SignInForm back={back} />
        {isOidcOffered && (
          <a className="button plain" href={oidcAddress(isOwnPath(back) ? back : undefined)}>
            {texts.byProvider}
          </a>
        )}
        <p className="muted small">{texts.firstTime}</p>
      </Page>
    </main>
  );
}

function SignInForm({ back }: { back: string | undefined }) {
  const [isCodeAsked, setCodeAsked] = useState(false);
  const code = useRef<HTMLInputElement>(null);
  const queries = useQueryClient();
  const router = useRouter();
  const attempt = useMutation({
    meta: { signsIn: true },
    mutationFn: (form: FormData) =>
      signIn(textOf(form, 'email'), textOf(form, 'password'), textOf(form, 'totp') || undefined),
    onSuccess: async (user) => {
      queries.clear();
      queries.setQueryData(sessionQuery.queryKey, user);
      router.history.push(isOwnPath(back) ? `/console${back}` : '/console/');
    },
    onError: (problem) => {
      if (!isProblem(problem, 401, 'totp_required')) return;
      setCodeAsked(true);
      setTimeout(() => code.current?.focus());
    },
  });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        attempt.mutate(new FormData(event.currentTarget));
      }}
    >
      <Field label={texts.email} name="email" type="email" autoComplete="username" required />
      <Field
        label={texts.password}
        name="password"
        type="password"
        autoComplete="current-password"
        required
      />
      {isCodeAsked && (
        <Field
          ref={code}
          label={texts.totp}
          name="totp"
          autoComplete="one-time-code"
          hint={texts.totpNeeded}
          required
        />
      )}
      {attempt.error && <Refusal error={attempt.error} hadCode={isCodeAsked} />}
      <Button kind="primary" type="submit" busy={attempt.isPending}>
        {texts.submit}
      </Button>
    </form>
  );
}

function Refusal({ error, hadCode }: { error: Error; hadCode: boolean }) {
  if (isProblem(error, 401, 'totp_required')) return null;
  const seconds = isProblem(error, 429) ? error.retryAfter : undefined;
  if (isProblem(error, 401))
    return (
      <p className="notice bad" role="alert">
        {hadCode && error.code !== 'unauthenticated' ? texts.wrongTotp : texts.wrong}
      </p>
    );
  if (seconds !== undefined)
    return (
      <p className="notice bad" role="alert">
        {fill(texts.tooMany, { seconds })}
      </p>
    );
  return <ErrorState error={error} />;
}

const refusalOf = (code: string): string =>
  Object.hasOwn(texts.refusals, code)
    ? texts.refusals[code as keyof typeof texts.refusals]
    : fill(texts.refused, { code });

const textOf = (form: FormData, name: string) => String(form.get(name) ?? '');

/** Only paths of the console: `//elsewhere.example` would lead to another host. */
const isOwnPath = (back: string | undefined): back is string =>
  back !== undefined && /^\/(?![/\\])/.test(back);
