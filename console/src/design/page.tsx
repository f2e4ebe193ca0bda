import { type ReactNode, useEffect, useRef } from 'react';
import { TEXTS } from '../texts';

interface PageProps {
  title: string;
  /** What can be done with the whole page, beside its title. */
  actions?: ReactNode;
  /** Under the title, in one line. */
  lead?: ReactNode;
  children: ReactNode;
}

let isFirstPage = true;

/**
 * A page: its one heading takes the focus when a link leads here, so that the keyboard and screen readers begin
 * at the new content; not on the first load, which begins at the top as everywhere.
 */
export function Page({ title, actions, lead, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!isFirstPage) heading.current?.focus();
    isFirstPage = false;
  }, []);
  useEffect(() => {
    document.title = `${title} · ${TEXTS.product}`;
  }, [title]);
  return (
    <div className="stack page">
      <div className="row spread">
        <div className="stack heading">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead && <div className="muted">{lead}</div>}
        </div>
        {actions && <div className="row">{actions}</div>}
      </div>
      {children}
    </div>
  );
}
