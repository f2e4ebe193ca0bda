import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { listQuery, templateQuery } from '../new-campaign/new-campaign-queries';

/** By its name; by its id where it was deleted since. */
export function TemplateLink({ id }: { id: string }) {
  const { data, error } = useQuery(templateQuery(id));
  if (error) return <code>{id}</code>;
  return (
    <Link to="/templates/$templateId" params={{ templateId: id }}>
      {data?.templateName ?? id}
    </Link>
  );
}

export function ListLink({ id }: { id: string }) {
  const { data, error } = useQuery(listQuery(id));
  if (error) return <code>{id}</code>;
  return (
    <Link to="/contacts/lists/$listId" params={{ listId: id }}>
      {data?.name ?? id}
    </Link>
  );
}
