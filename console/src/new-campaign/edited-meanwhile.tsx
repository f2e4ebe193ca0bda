import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { call } from '../api/client';
import { useOnceKey } from '../api/once-key';
import type { CampaignDetail, DuplicateCampaignData, DuplicateCampaignResponse } from '../api/types.gen';
import { campaignQuery } from '../campaigns/campaign-queries';
import { isEditable, phaseWord } from '../campaigns/campaign-words';
import { Conflict } from '../design/conflict';
import { ErrorState } from '../design/states';
import { fill } from '../format';
import { TEXTS } from '../texts';
import type { Draft, Editing } from './draft';
import { draftOfCampaign } from './draft-of-campaign';

const texts = TEXTS.newCampaign.meanwhile;
/** Another person's change is shown this long after it at the latest, and again before anything is saved. */
const LOOK_MS = 10_000;

interface FormProps {
  draft: Draft;
  change(changed: Partial<Draft>): void;
  clear(): void;
}

/** The campaign in the form was edited or started by another person: what changed, and what becomes of what was typed. */
export function EditedMeanwhile({ draft, change, clear }: FormProps) {
  const { editing } = draft;
  const { data } = useQuery({
    ...campaignQuery(editing?.id ?? ''),
    enabled: editing !== undefined,
    refetchInterval: LOOK_MS,
  });
  if (!editing || data?.id !== editing.id || !isChanged(editing, data)) return null;
  if (!isEditable(data)) return <Started {...{ draft, change, clear }} campaign={data} />;
  const theirs = draftOfCampaign(data);
  return (
    <Conflict
      text={texts.edited}
      before={editing.from}
      after={theirs.editing.from}
      // What the form has no field for was not typed, so that theirs of it holds.
      onKeep={() => change({ editing: theirs.editing })}
      onTake={() => change(theirs)}
    />
  );
}

function Started({ draft, change, clear, campaign }: FormProps & { campaign: CampaignDetail }) {
  const navigate = useNavigate();
  const copy = useCopy(campaign.id, (made) => change({ editing: draftOfCampaign(made).editing }));
  return (
    <>
      <Conflict
        title={texts.started}
        text={fill(texts.startedText, { name: campaign.name, phase: phaseWord(campaign.phase) })}
        before={draft.editing?.from ?? ''}
        after={draftOfCampaign(campaign).editing.from}
        keep={texts.asNew}
        take={texts.see}
        isBusy={copy.isPending}
        onKeep={() => copy.mutate()}
        onTake={() => {
          clear();
          void navigate({ to: '/campaigns/$id', params: { id: campaign.id } });
        }}
      />
      {copy.error && <ErrorState error={copy.error} />}
    </>
  );
}

/** A copy has the recipients and settings that the form has no field for, which a new campaign would not have. */
function useCopy(id: string, onCopied: (copy: CampaignDetail) => void) {
  const queries = useQueryClient();
  const once = useOnceKey();
  return useMutation({
    mutationFn: async () => {
      const { data } = await call<DuplicateCampaignData, DuplicateCampaignResponse>(
        'POST',
        '/api/campaign/{id}/duplicate',
        { path: { id }, body: {}, idempotencyKey: once.keyOf(id) },
      );
      return queries.fetchQuery(campaignQuery(data.id));
    },
    onSuccess: onCopied,
  });
}

/** Another person was faster: the form shows it, so that nothing is said beside it. */
export class ChangedMeanwhile extends Error {
  override name = 'ChangedMeanwhile';
}

/** Refuses to save over what the person has not seen. The API has no versions of campaigns: a moment stays open. */
export function useUnchanged({ editing }: Draft): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    if (!editing) return;
    const current = await queries.fetchQuery({ ...campaignQuery(editing.id), staleTime: 0 });
    if (isChanged(editing, current)) throw new ChangedMeanwhile(texts.edited);
  };
}

const isChanged = (editing: Editing, current: CampaignDetail): boolean =>
  !isEditable(current) || draftOfCampaign(current).editing.from !== editing.from;
