/** Saved queries: what is listed, saved, shared and deleted through the API. */
import { signal } from '@preact/signals'
import { GatehouseError, type SavedDocument } from '../../../../client/src/index.ts'
import { gate, may, user } from '../../gate.ts'
import { confirm } from '../../shell/dialogs.tsx'
import { changeTab, type QueryTab, type SavedPlace, savedBody, tabTitle } from './tabs.ts'

export type Listed = Omit<SavedDocument, 'body'>
export type Shared = SavedDocument['shared']

/** Rises when a document has changed, so that lists are read again. */
export const savedVersion = signal(0)
export const PAGE = 100

/** A page of the list; `more` has the rest. */
export async function listSaved(prefix: string, signal: AbortSignal): Promise<{ items: Listed[]; more: boolean }> {
  const items: Listed[] = []
  const query = { kind: 'query', limit: PAGE, ...(prefix !== '' && { prefix }) }
  for await (const item of gate.saved.list(query, { signal })) {
    if (items.length === PAGE) return { items, more: true }
    items.push(item)
  }
  return { items, more: false }
}

export async function readSaved(id: string, signal?: AbortSignal): Promise<SavedPlace> {
  return readSavedPlace(await gate.saved.get(id, { signal }))
}

function readSavedPlace({ id, kind, name, owner, username, shared, version, body }: SavedDocument): SavedPlace {
  if (kind !== 'query' || body === undefined) throw new Error('This is a board, not a query')
  return { id, name, owner, username, shared, version, body }
}

/** Whether the user may change it. */
export function isOwn({ owner }: Pick<SavedPlace, 'owner'>): boolean {
  return owner === user.value?.sub || may('Platform/Admin')
}

/** Saves a tab under a name, as a document of the user. */
export async function createSaved(tab: QueryTab, name: string, shared: Shared): Promise<SavedPlace> {
  const saved = readSavedPlace(await gate.saved.create({ kind: 'query', name, shared, body: savedBody(tab) }))
  changeTab(tab.id, { saved })
  savedVersion.value++
  return saved
}

type Change = Partial<Pick<SavedPlace, 'name' | 'shared' | 'body'>>

/** Changes the document of a tab. Resolves with undefined if it was changed elsewhere and the user keeps that version. */
export async function updateSaved(tab: QueryTab, change: Change): Promise<SavedPlace | undefined> {
  const { saved } = tab
  if (saved === undefined) throw new Error('The tab is not saved')
  const send = async (ifMatch: string) =>
    readSavedPlace((await gate.saved.update(saved.id, change, { ifMatch })) as SavedDocument)
  let changed: SavedPlace
  try {
    changed = await send(`"${saved.version}"`)
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.code !== 'Saved.Changed') throw error
    if (!(await askToOverwrite(tabTitle(tab)))) return undefined
    changed = await send('*')
  }
  changeTab(tab.id, { saved: changed })
  savedVersion.value++
  return changed
}

function askToOverwrite(name: string): Promise<boolean> {
  return confirm({
    title: `“${name}” was changed in the meantime`,
    text: 'Another user, or you in another window, saved it after you opened it. If you overwrite it, that change is lost. To see it first, open the query again in another tab.',
    action: 'Overwrite',
    danger: true,
  })
}

export async function deleteSaved(id: string): Promise<void> {
  await gate.saved.delete(id)
  savedVersion.value++
}
