import { Choice } from '../design/field';
import { TEXTS } from '../texts';

const { access: texts } = TEXTS;
const SCOPES = Object.keys(texts.scopes) as (keyof typeof texts.scopes)[];
const DEFAULT = SCOPES.filter((one) => one !== 'suppression:lift' && one !== 'policy');

interface ScopesFieldProps {
  /** `undefined`: the usual ones. */
  scopes: readonly string[] | undefined;
  onChange(scopes: readonly string[] | undefined): void;
}

/** What a program may do. */
export function ScopesField({ scopes, onChange }: ScopesFieldProps) {
  return (
    <fieldset className="fieldset stack tight">
      <legend>{texts.mayDo}</legend>
      <Choice
        label={texts.usual}
        hint={texts.usualText}
        checked={scopes === undefined}
        onChange={({ target }) => onChange(target.checked ? undefined : DEFAULT)}
      />
      {scopes !== undefined &&
        SCOPES.map((scope) => (
          <Choice
            key={scope}
            label={texts.scopes[scope]}
            checked={scopes.includes(scope)}
            onChange={({ target }) =>
              onChange(target.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))
            }
          />
        ))}
    </fieldset>
  );
}

/** For the column of a list; earlier servers do not say. */
export const scopesOf = (holder: object): string =>
  'scopes' in holder && Array.isArray(holder.scopes) ? holder.scopes.join(', ') : texts.everything;
