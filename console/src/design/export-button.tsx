import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { download } from '../api/download';
import { Button } from './button';
import { messageOf } from './states';
import { useToast } from './toast';

/** Saves what an address answers as a file. */
export function ExportButton({
  address,
  name,
  children,
}: {
  address: string;
  name: string;
  children: ReactNode;
}) {
  const say = useToast();
  const saving = useMutation({
    mutationFn: () => download(address, name),
    onError: (error) => say(messageOf(error), { bad: true }),
  });
  return (
    <Button small busy={saving.isPending} onClick={() => saving.mutate()}>
      {children}
    </Button>
  );
}
