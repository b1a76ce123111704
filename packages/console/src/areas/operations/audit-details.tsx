/** One event of the audit log in full. */

import { read } from '../../admin/requests.ts'
import { may } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { Await, Badge, Button, Code, Copy, count, Dialog, Empty, Facts, Time, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { AuditFilter, AuditRows } from './audit-log.ts'
import { eventMeaning, eventTitle, outcomeText } from './event-title.ts'
import type { AuditItem, AuditPage, Names } from './replies.ts'

export function AuditDetails({
  seq,
  known,
  onClose,
  onFilter,
}: {
  readonly seq: string
  readonly known: AuditRows
  readonly onClose: () => void
  readonly onFilter: (filter: AuditFilter) => void
}) {
  const loaded = useLoad(
    async (signal) => {
      const item = known.items.find((one) => String(one.seq) === seq)
      if (item !== undefined) return { item, names: known.names }
      const number = Number(seq)
      if (!Number.isSafeInteger(number) || number < 1) return { item: undefined, names: {} }
      const page = await read<AuditPage>(`/admin/audit?before=${number + 1}&limit=1`, signal)
      return { item: page.items.find((one) => one.seq === number), names: page.names }
    },
    [seq],
  )
  const { item, names = {} } = loaded.data ?? {}
  return (
    <Dialog
      title={item === undefined ? `Event ${seq}` : eventTitle(item.event)}
      size="wide"
      onClose={onClose}
      actions={
        <>
          {item?.actor !== undefined && (
            <Button onClick={() => onFilter({ actor: item.actor ?? '' })}>All by this actor</Button>
          )}
          {item !== undefined && (
            <Button onClick={() => onFilter({ event: item.event })}>All events of this type</Button>
          )}
          <Button kind="primary" onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      <Await of={loaded} title="The event could not be read">
        {() =>
          item === undefined ? (
            <Empty icon="history" title="There is no such event">
              It may have been removed because of its age.
            </Empty>
          ) : (
            <Details item={item} names={names} />
          )
        }
      </Await>
    </Dialog>
  )
}

function Details({ item, names }: { readonly item: AuditItem; readonly names: Names }) {
  return (
    <>
      {eventMeaning(item.event) !== undefined && <p class="quiet">{eventMeaning(item.event)}</p>}
      <Facts
        of={[
          [word('Event'), <code key="event">{item.event}</code>],
          ['Sequence number', count(item.seq)],
          [word('Time'), <Time key="at" at={item.at} />],
          [
            word('Outcome'),
            <Badge key="outcome" kind={item.outcome === 'success' ? 'good' : 'danger'}>
              {outcomeText(item.outcome)}
            </Badge>,
          ],
          [word('Actor'), <Who key="actor" id={item.actor} names={names} />],
          [word('Target'), <Who key="target" id={item.target} names={names} />],
          [word('Application'), item.client ?? '–'],
          [word('Address'), item.address ?? '–'],
          [word('Request'), <Id key="request" of={item.request_id} label="Copy the request id" />],
          [word('Node'), item.node],
          [word('Hash'), <Id key="hash" of={item.hash} label="Copy the hash" />],
        ]}
      />
      {Object.keys(item.details).length > 0 && <Code label="Details" text={JSON.stringify(item.details, null, 2)} />}
    </>
  )
}

function Who({ id, names }: { readonly id: string | undefined; readonly names: Names }) {
  if (id === undefined) return '–'
  const name = Object.hasOwn(names, id) ? names[id] : undefined
  if (name === undefined || name === id) return <Id of={id} label="Copy the id" />
  return (
    <>
      {may('Identity/Admin') ? <a href={href('people', id)}>{name}</a> : name} <Id of={id} label="Copy the id" />
    </>
  )
}

function Id({ of: id, label }: { readonly of: string | undefined; readonly label: string }) {
  if (id === undefined) return '–'
  return (
    <span class="id">
      <code class="quiet">{id}</code> <Copy text={id} label={label} />
    </span>
  )
}
