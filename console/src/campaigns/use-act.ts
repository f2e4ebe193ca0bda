import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { call } from '../api/client';
import { useOnceKey } from '../api/once-key';
import { isProblem } from '../api/problem';
import { messageOf } from '../design/states';
import { useToast } from '../design/toast';
import { fill } from '../format';
import { TEXTS } from '../texts';
import { campaignQuery, type Detail } from './campaign-queries';
import { phaseWord } from './campaign-words';

const texts = TEXTS.campaign.control;

export type Act = 'start' | 'pause' | 'resume' | 'release' | 'duplicate';

/** A campaign that is too large for one person is shown to be approved, in place of a refusal. */
export function useAct({ id }: Detail, onApprovalNeeded: () => void) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const say = useToast();
  const { queryKey } = campaignQuery(id);
  const once = useOnceKey();
  return useMutation({
    mutationFn: (act: Act) =>
      call<
        { url: `/api/campaign/{id}/${Act}`; path: { id: string }; body: object },
        { data: { id: string; phase: Detail['phase'] } }
      >('POST', `/api/campaign/{id}/${act}`, {
        path: { id },
        body: {},
        // The others say what a campaign shall be, and may be said twice.
        ...(act === 'duplicate' ? { idempotencyKey: once.keyOf(id) } : {}),
      }),
    onSuccess: async ({ data }, act) => {
      if (act === 'duplicate') {
        once.done();
        say(texts.duplicated);
        await navigate({ to: '/campaigns/$id', params: { id: data.id } });
        return;
      }
      queries.setQueryData(queryKey, (known) => (known ? { ...known, phase: data.phase } : known));
    },
    onError: (error) => {
      if (isProblem(error, 409, 'approval_required')) onApprovalNeeded();
      const phase = queries.getQueryData(queryKey)?.phase;
      const isConflict = isProblem(error, 409) && phase !== undefined;
      say(
        isConflict
          ? `${error.message} ${fill(texts.conflict, { phase: phaseWord(phase) })}`
          : messageOf(error),
        {
          bad: true,
        },
      );
    },
    onSettled: () => queries.invalidateQueries({ queryKey }),
  });
}
