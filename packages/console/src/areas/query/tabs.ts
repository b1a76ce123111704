/** The tabs of the area: what is written in each, kept in this browser over a reload, for each user. */
import { computed, effect, signal } from '@preact/signals'
import type { SavedDocument, SavedQuery } from '../../../../client/src/index.ts'
import type { ChartView } from '../../chart/chart.tsx'
import { user } from '../../gate.ts'
import { href } from '../../shell/router.ts'
import { readStored, writeStored } from './storage.ts'

/** The document that a tab shows, as it was last read or written. */
export interface SavedPlace {
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly username: string | null
  readonly shared: SavedDocument['shared']
  readonly version: number
  readonly body: SavedQuery
}

export interface QueryTab {
  readonly id: string
  /** Of a tab that is not saved: "Query 3". */
  readonly title: string
  readonly text: string
  /** As they are typed; null is NULL. */
  readonly parameters: Readonly<Record<string, string | null>>
  readonly chart: ChartView
  readonly live: boolean
  readonly saved?: SavedPlace | undefined
}

const MOST_TABS = 20
/** Browsers keep some 5 MB for an origin. */
const LONGEST_KEPT = 65_536

interface Stored {
  readonly tabs: readonly QueryTab[]
  readonly current: string
}

export const tabs = signal<readonly QueryTab[]>([])
export const currentId = signal('')
export const currentTab = computed(() => tabs.value.find(({ id }) => id === currentId.value) ?? tabs.value[0])

/** Reads what was kept, once for each user, and keeps what changes. The function that it returns stops that. */
export function startTabs(): () => void {
  const key = `tabs.${user.peek()?.sub ?? ''}`
  const stored = readStored<Stored>(key)
  const kept = stored?.tabs?.filter(isTab) ?? []
  tabs.value = kept.length > 0 ? kept : [emptyTab([])]
  currentId.value = stored?.current ?? ''
  let timer: ReturnType<typeof setTimeout> | undefined
  const write = () => {
    clearTimeout(timer)
    timer = undefined
    writeStored(key, { tabs: tabs.peek().filter(({ text }) => text.length <= LONGEST_KEPT), current: currentId.peek() })
  }
  const stop = effect(() => {
    tabs.value
    currentId.value
    timer ??= setTimeout(write, 300)
  })
  addEventListener('pagehide', write)
  return () => {
    stop()
    write()
    removeEventListener('pagehide', write)
  }
}

function isTab(value: unknown): value is QueryTab {
  const tab = value as Partial<QueryTab> | null
  return typeof tab?.id === 'string' && typeof tab.text === 'string' && typeof tab.parameters === 'object'
}

function emptyTab(others: readonly QueryTab[]): QueryTab {
  const numbers = others.map(({ title }) => Number(/^\p{L}+ (\d+)$/u.exec(title)?.[1] ?? 0))
  const title = `Query ${Math.max(0, ...numbers) + 1}`
  return { id: newId(), title, text: '', parameters: {}, chart: { view: 'table' }, live: false }
}

function newId(): string {
  return Math.random().toString(36).slice(2, 10)
}

/** Opens another tab and shows it. If there are too many, the oldest that is not shown is closed. */
export function addTab(members: Partial<QueryTab> = {}): QueryTab {
  const tab = { ...emptyTab(tabs.value), ...members }
  const current = currentTab.value
  // An empty tab is used before another is opened.
  const isReplaced = current !== undefined && current.text.trim() === '' && current.saved === undefined
  const others = isReplaced ? tabs.value.filter(({ id }) => id !== current.id) : tabs.value
  const reused = isReplaced ? { ...tab, id: current.id } : tab
  tabs.value = [...others.slice(Math.max(0, others.length - MOST_TABS + 1)), reused]
  currentId.value = reused.id
  return reused
}

export function newTab(): QueryTab {
  const tab = emptyTab(tabs.value)
  tabs.value = [...tabs.value.slice(Math.max(0, tabs.value.length - MOST_TABS + 1)), tab]
  currentId.value = tab.id
  return tab
}

export function changeTab(id: string, members: Partial<QueryTab>): void {
  tabs.value = tabs.value.map((tab) => (tab.id === id ? { ...tab, ...members } : tab))
}

/** Closes a tab and shows its neighbour. The function that it returns opens the tab again. */
export function closeTab(id: string): () => void {
  const before = tabs.value
  const index = before.findIndex((tab) => tab.id === id)
  const left = before.filter((tab) => tab.id !== id)
  tabs.value = left.length > 0 ? left : [emptyTab([])]
  if (currentId.value === id || left.length === 0)
    currentId.value = (tabs.value[Math.min(index, tabs.value.length - 1)] as QueryTab).id
  return () => {
    const closed = before[index]
    if (closed === undefined) return
    tabs.value = [...tabs.value.slice(0, index), closed, ...tabs.value.slice(index)]
    currentId.value = id
  }
}

export function tabTitle({ saved, title }: QueryTab): string {
  return saved?.name ?? title
}

/** Whether the tab differs from the document that it shows. */
export function isChanged(tab: QueryTab): boolean {
  if (tab.saved === undefined) return tab.text.trim() !== ''
  return JSON.stringify(savedBody(tab)) !== JSON.stringify(savedBody(fromSaved(tab.saved)))
}

/** What is saved of a tab. */
export function savedBody({ text, parameters, chart, live, saved }: QueryTab): SavedQuery {
  const { view = 'table', x, y, series, scale, averages } = chart
  const description = saved?.body.description
  return {
    ...(description !== undefined && { description }),
    statement: text.trim(),
    ...(Object.keys(parameters).length > 0 && { parameters }),
    view,
    ...(x !== undefined && { x }),
    ...(y !== undefined && y.length > 0 && { y }),
    ...(series !== undefined && { series }),
    ...(scale !== undefined && { scale }),
    ...(averages !== undefined && averages.length > 0 && { averages }),
    live,
  }
}

/** A tab of a saved query. */
export function fromSaved(saved: SavedPlace): QueryTab {
  const { statement, parameters = {}, view = 'table', x, y, series, scale, averages, live = false } = saved.body
  const texts = Object.entries(parameters).map(([name, value]) => [name, value === null ? null : String(value)])
  return {
    ...emptyTab([]),
    text: statement,
    parameters: Object.fromEntries(texts),
    chart: {
      view,
      ...(x !== undefined && { x }),
      ...(y !== undefined && { y }),
      ...(series !== undefined && { series }),
      ...(scale !== undefined && { scale }),
      ...(averages !== undefined && { averages }),
    },
    live,
    saved,
  }
}

/** Names what a tab shows. */
export function tabHref({ id, saved }: QueryTab): string {
  return saved === undefined ? href('query', { tab: id }) : href('query', 'saved', saved.id)
}
