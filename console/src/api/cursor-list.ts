import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';

/** A list that is read page by page, each naming the next (`next`, null at the end). */
interface CursorPage<Row> {
  data: readonly Row[];
  next: string | null;
}

export function useCursorList<Row>(
  queryKey: QueryKey,
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<CursorPage<Row>>,
  options: { refetchInterval?: number } = {},
) {
  const query = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    getNextPageParam: ({ next }) => next ?? undefined,
    ...options,
  });
  return { ...query, rows: query.data?.pages.flatMap(({ data }) => data) };
}
