import { TEXTS } from '../texts';
import { differencesOf } from './differences';

const { templates: texts } = TEXTS;
const MARKS = { same: ' ', added: '+', removed: '−' } as const;

/** What a newer text has changed, line by line, in words and by colour. */
export function Difference({ before, after }: { before: string; after: string }) {
  const lines = differencesOf(before, after);
  if (lines.every(({ kind }) => kind === 'same')) return <p className="notice">{texts.noDifference}</p>;
  return (
    <section className="difference" aria-label={texts.differences}>
      {lines.map(({ kind, text }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines repeat, and none of them moves
        <div key={at} className={kind}>
          <span aria-hidden="true">{MARKS[kind]} </span>
          {kind !== 'same' && <span className="only-heard">{texts.marks[kind]}: </span>}
          {text}
        </div>
      ))}
    </section>
  );
}
