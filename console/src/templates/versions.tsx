import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client';
import { isProblem } from '../api/problem';
import type { ReadTemplateData, ReadTemplateResponse } from '../api/types.gen';
import { Difference } from '../design/difference';
import { Select } from '../design/field';
import { Loaded } from '../design/loaded';
import { EmptyState } from '../design/states';
import { fill, formatTime } from '../format';
import { TEXTS } from '../texts';
import { type Template, textOf } from './draft';

const { templates: texts } = TEXTS;

interface Version {
  version: number;
  createdAt?: string;
  createdBy?: string | null;
  note?: string;
}

/** `GET /api/template/{id}/versions` (api.md 16). */
interface ListVersionsData {
  url: '/api/template/{id}/versions';
  path: { id: string };
}

/** Every version, and what changed between two of them. */
export function Versions({ template }: { template: Template }) {
  const [newer, setNewer] = useState(template.version);
  const [older, setOlder] = useState(Math.max(1, template.version - 1));
  const versions = useQuery({
    queryKey: ['template', template.id, 'versions', template.version],
    queryFn: async ({ signal }): Promise<readonly Version[]> => {
      try {
        const given = { path: { id: template.id }, signal };
        return (
          await call<ListVersionsData, { data: Version[] }>('GET', '/api/template/{id}/versions', given)
        ).data;
      } catch (error) {
        // A server without that list still has the versions, which are numbered from 1.
        if (!isProblem(error, 404)) throw error;
        return Array.from({ length: template.version }, (_, i) => ({ version: template.version - i }));
      }
    },
  });
  if (template.version === 1) return <EmptyState title={texts.oneVersion}>{texts.oneVersionText}</EmptyState>;
  return (
    <Loaded query={versions}>
      {(all) => (
        <div className="stack">
          <div className="columns">
            <VersionSelect label={texts.older} versions={all} value={older} onChange={setOlder} />
            <VersionSelect label={texts.newer} versions={all} value={newer} onChange={setNewer} />
          </div>
          <Between id={template.id} older={older} newer={newer} />
        </div>
      )}
    </Loaded>
  );
}

interface VersionSelectProps {
  label: string;
  versions: readonly Version[];
  value: number;
  onChange(version: number): void;
}

function VersionSelect({ label, versions, value, onChange }: VersionSelectProps) {
  return (
    <Select label={label} value={value} onChange={({ target }) => onChange(Number(target.value))}>
      {versions.map(({ version, createdAt, note }) => (
        <option key={version} value={version}>
          {[fill(texts.versionN, { version }), createdAt && formatTime(createdAt), note]
            .filter(Boolean)
            .join(' · ')}
        </option>
      ))}
    </Select>
  );
}

function Between({ id, older, newer }: { id: string; older: number; newer: number }) {
  const both = useQuery({
    queryKey: ['template', id, 'difference', older, newer],
    queryFn: ({ signal }) =>
      Promise.all(
        [older, newer].map((version) =>
          call<ReadTemplateData, ReadTemplateResponse>('GET', '/api/template/{id}', {
            path: { id },
            query: { version },
            signal,
          }).then(({ data }) => textOf(data)),
        ),
      ),
  });
  return (
    <Loaded query={both}>
      {([before = '', after = '']) => <Difference before={before} after={after} />}
    </Loaded>
  );
}
