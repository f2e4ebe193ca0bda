import { fill, formatNumber } from '../format';
import { TEXTS } from '../texts';
import { Button } from './button';

const { paging } = TEXTS;

interface PagingProps {
  page: number;
  limit: number;
  total: number;
  onPage(page: number): void;
}

/** Steps through a list that knows how long it is. */
export function Paging({ page, limit, total, onPage }: PagingProps) {
  const pages = Math.max(1, Math.ceil(total / limit));
  const first = total === 0 ? 0 : (page - 1) * limit + 1;
  return (
    <nav className="row spread" aria-label={paging.label}>
      <span className="muted small" role="status">
        {fill(paging.shown, { from: first, to: Math.min(page * limit, total), total })}
      </span>
      {pages > 1 && (
        <span className="row">
          <Button small unavailable={page <= 1} onClick={() => onPage(page - 1)}>
            {paging.before}
          </Button>
          <Button small unavailable={page >= pages} onClick={() => onPage(page + 1)}>
            {paging.after}
          </Button>
        </span>
      )}
    </nav>
  );
}

interface MoreProps {
  shown: number;
  hasMore: boolean;
  isLoading: boolean;
  onMore(): void;
}

/** Goes on in a list that is read by cursor, which has no count and no numbers of pages. */
export function More({ shown, hasMore, isLoading, onMore }: MoreProps) {
  return (
    <div className="row spread">
      <span className="muted small" role="status">
        {fill(hasMore ? paging.soFar : paging.allShown, { n: formatNumber(shown) })}
      </span>
      {hasMore && (
        <Button small busy={isLoading} onClick={onMore}>
          {paging.more}
        </Button>
      )}
    </div>
  );
}
