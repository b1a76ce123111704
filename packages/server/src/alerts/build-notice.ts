/** Makes a notice: its title and text, and as many instances as fit. */
import { parseExactly } from '../lib/exact-json.ts'
import type { Alert } from '../store/alerts/alert.ts'
import type { Notice, NoticeInstance, NoticeType } from './notice.ts'
import { fillTemplate, writePlain } from './template.ts'

export interface NoticedInstance {
  readonly key: string
  readonly state: string
  readonly since: number
  readonly row: string
}

export interface NoticeParts {
  readonly type: NoticeType
  readonly instances: readonly NoticedInstance[]
  /** Those beyond `instances`. */
  readonly more?: number
  readonly missed?: boolean
  /** Why the statement fails. */
  readonly error?: string
  /** A time as of which rows are that the owner sees with a delay, as a text of ISO 8601. */
  readonly asOf?: string | undefined
  readonly now: number
  readonly url: string
}

const MOST_INSTANCES = 50
const MOST_BYTES = 60 * 1024
const SHOWN_LINES = 5
const LONGEST_LINE = 300

/** Without its number, which each channel counts. */
export function buildNotice(alert: Alert, parts: NoticeParts): Notice {
  const { type, now, url, error, asOf } = parts
  const fitting = fitInstances(parts.instances)
  const count = parts.instances.length + (parts.more ?? 0)
  const [first] = fitting
  const state = type.slice('alert.'.length)
  const values = { alert: alert.id, name: alert.name, state, count, first }
  const { title, text } = alert.definition
  return {
    type,
    timestamp: new Date(now).toISOString(),
    data: {
      alert: alert.id,
      name: alert.name,
      sequence: 0,
      // A test, and a statement that fails, have no row that the template could show.
      title: title === '' || first === undefined ? `${writePlain(alert.name)}: ${state}` : fillTemplate(title, values),
      text: error ?? (text === '' ? describeInstances(fitting, count, asOf) : fillTemplate(text, values)),
      url,
      instances: fitting,
      more: count - fitting.length,
      ...(parts.missed === true && { missed: true }),
      ...(asOf !== undefined && { as_of: asOf }),
    },
  }
}

function fitInstances(instances: readonly NoticedInstance[]): readonly NoticeInstance[] {
  const fitting: NoticeInstance[] = []
  let bytes = 0
  for (const { key, state, since, row } of instances.slice(0, MOST_INSTANCES)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(row) + 100
    if (bytes > MOST_BYTES) break
    fitting.push({ key: parseExactly(key), state, since: new Date(since).toISOString(), row: parseExactly(row) })
  }
  return fitting
}

/** One line for each of the first. */
function describeInstances(instances: readonly NoticeInstance[], count: number, asOf: string | undefined): string {
  const lines = instances.slice(0, SHOWN_LINES).map(({ key, state, row }) => {
    const values = typeof row === 'object' && row !== null ? Object.entries(row) : [['', key] as const]
    const line = values.map(([name, value]) => `${writePlain(name)} ${writePlain(value)}`.trim()).join(', ')
    return `${state}: ${line}`.slice(0, LONGEST_LINE).toWellFormed()
  })
  const others = count - lines.length
  const more = others > 0 ? [`and ${others} more`] : []
  return [...lines, ...more, ...(asOf === undefined ? [] : [`delayed: as of ${asOf}`])].join('\n')
}
