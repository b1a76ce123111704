/** Makes a notice: its title and text, and as many instances as fit. */
import { parseExactly } from '../lib/exact-json.ts'
import type { Alert } from '../store/alerts/alert.ts'
import type { Notice, NoticeInstance, NoticeType } from './notice.ts'
import { cut, fillTemplate, writePlain } from './template.ts'

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
/** A body has 64 KiB at most. What is left is for the numbers that it gets later. */
const MOST_BYTES = 63 * 1024
const LONGEST_TITLE = 300
const LONGEST_TEXT = 4_000
const SHOWN_LINES = 5
const LONGEST_LINE = 300

/** Without its number, which each channel counts. */
export function buildNotice(alert: Alert, parts: NoticeParts): Notice {
  const { type, now, url, error, asOf, more = 0 } = parts
  const instances = parts.instances.slice(0, MOST_INSTANCES).map(readInstance)
  const count = parts.instances.length + more
  const [first] = instances
  const state = type.slice('alert.'.length)
  const values = { alert: alert.id, name: alert.name, state, count, first }
  const { title, text } = alert.definition
  // A test, and a statement that fails, have no row that the template could show.
  const heading =
    title === '' || first === undefined ? `${writePlain(alert.name)}: ${state}` : fillTemplate(title, values)
  const body = error ?? (text === '' ? describeInstances(instances, count, asOf) : fillTemplate(text, values))
  const notice: Notice = {
    type,
    timestamp: new Date(now).toISOString(),
    data: {
      alert: alert.id,
      name: alert.name,
      sequence: 0,
      title: cut(heading, LONGEST_TITLE),
      text: cut(body, LONGEST_TEXT),
      url,
      instances: [],
      more: count - instances.length,
      ...(parts.missed === true && { missed: true }),
      ...(asOf !== undefined && { as_of: asOf }),
    },
  }
  return addInstances(notice, instances)
}

/** The first of these instances, as many as fit; the others are counted. */
export function addInstances(notice: Notice, instances: readonly NoticeInstance[]): Notice {
  const { data } = notice
  let bytes = Buffer.byteLength(JSON.stringify(notice))
  const fitting: NoticeInstance[] = []
  for (const instance of instances.slice(0, MOST_INSTANCES)) {
    bytes += Buffer.byteLength(JSON.stringify(instance)) + 1
    if (bytes > MOST_BYTES) break
    fitting.push(instance)
  }
  return { ...notice, data: { ...data, instances: fitting, more: data.more + instances.length - fitting.length } }
}

function readInstance({ key, state, since, row }: NoticedInstance): NoticeInstance {
  return { key: parseExactly(key), state, since: new Date(since).toISOString(), row: parseExactly(row) }
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
