/** The backups and restores that the audit log knows of. */

import { read } from '../../admin/requests.ts'
import { server } from '../../server.ts'
import {
  Await,
  Badge,
  bytes,
  Code,
  count,
  Empty,
  Facts,
  Notice,
  Section,
  Table,
  Time,
  useLoad,
} from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import { OLDEST_BACKUP_MS } from './problems.ts'
import type { BackupItem, ReplicationReply } from './replies.ts'

const KINDS: Readonly<Record<BackupItem['kind'], string>> = {
  taken: word('taken'),
  restored: word('restored'),
  verified: word('verified'),
  interrupted: word('interrupted'),
}
const BADGES = { taken: 'good', restored: 'accent', verified: 'good', interrupted: 'danger' } as const

interface BackupsReply {
  readonly items: readonly BackupItem[]
  readonly replication?: ReplicationReply
}

export function Backups() {
  const loaded = useLoad((signal) => read<BackupsReply>('/admin/backups?limit=100', signal), [])
  return (
    <Section
      title="Backups"
      about={
        <>
          As recorded in the audit log.{' '}
          <a href={`${server.base}/docs/backup`} target="_blank" rel="noreferrer">
            How to back up and restore
          </a>
        </>
      }
    >
      <Await of={loaded} title="The backups could not be listed">
        {({ items, replication }) => {
          const last = items.find(({ kind }) => kind === 'taken')
          return (
            <div class="operations-list">
              {replication !== undefined && <Replication {...replication} />}
              {replication === undefined &&
                last !== undefined &&
                Date.now() - Date.parse(last.at) > OLDEST_BACKUP_MS && (
                  <Notice kind="warning">
                    The last backup was taken <Time at={last.at} as="relative" />: there should be one every day. See
                    why the regular one did not run.
                  </Notice>
                )}
              {replication === undefined && last === undefined && items.length > 0 && (
                <Notice kind="warning">
                  There is no backup. If the disk fails, everything is lost: users, keys and tables.
                </Notice>
              )}
              {items.length === 0 && replication !== undefined ? null : items.length === 0 ? (
                <Empty icon="save" title="No backups yet">
                  <p>If the disk fails, everything is lost: users, keys and tables.</p>
                  <p>Run this on the machine that holds the data; the server can keep running:</p>
                  <Code label="Command" text="gatehouse backup /var/backups/gatehouse/$(date +%F)" />
                </Empty>
              ) : (
                <Table
                  label="Backups"
                  rows={items}
                  rowKey={({ at, kind }) => `${at} ${kind}`}
                  columns={[
                    { title: 'When', cell: ({ at }) => <Time at={at} /> },
                    {
                      title: 'What',
                      cell: ({ kind }) => <Badge kind={BADGES[kind]}>{KINDS[kind]}</Badge>,
                    },
                    { title: 'Rows', kind: 'number', cell: ({ rows }) => (rows === undefined ? '–' : count(rows)) },
                    {
                      title: 'Size',
                      kind: 'number',
                      cell: ({ bytes: size }) => (size === undefined ? '–' : bytes(size)),
                    },
                    { title: 'Backup of', cell: ({ taken }) => <Time at={taken} />, wide: true },
                    { title: 'Node', cell: ({ node }) => node, wide: true },
                  ]}
                />
              )}
            </div>
          )
        }}
      </Await>
    </Section>
  )
}

/** Seconds behind that are worth a warning. */
const MOST_LAG = 60

function Replication({ location, moment, lag_seconds: lag = 0, verified_at: verified, ...state }: ReplicationReply) {
  const isLate = lag > MOST_LAG || state.interrupted_since !== undefined
  return (
    <>
      {isLate && <Notice kind="warning">The copy is behind. {state.error ?? 'See the log of the server.'}</Notice>}
      <Facts
        of={[
          ['Sent to', location ?? '–'],
          ['Can be restored until', moment === undefined ? '–' : <Time at={moment} />],
          [word('Behind'), `${count(Math.round(lag))} s`],
          ['Waits in the data folder', bytes(state.spool_bytes ?? 0)],
          ['All pages were sent', state.base_at === undefined ? 'not yet' : <Time at={state.base_at} as="relative" />],
          ['Restored and checked', verified === undefined ? 'not yet' : <Time at={verified} as="relative" />],
        ]}
      />
    </>
  )
}
