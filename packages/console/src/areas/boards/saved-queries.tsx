/** The choice of a saved query, whose statement and view a new tile takes over. */
import { useState } from 'preact/hooks'
import type { SavedQuery } from '../../../../client/src/index.ts'
import { gate } from '../../gate.ts'
import { toastError } from '../../shell/toasts.tsx'
import { Select, useLoad } from '../../ui/index.ts'

const MOST = 100

export type FromSaved = Omit<SavedQuery, 'description' | 'view'> & {
  readonly title: string
  readonly view: NonNullable<SavedQuery['view']>
}

export function SavedQueries({ onChosen }: { readonly onChosen: (tile: FromSaved) => void }) {
  const [chosen, setChosen] = useState('')
  const { data = [] } = useLoad((signal) => listQueries(signal), [])
  if (data.length === 0) return null
  const choose = async (id: string) => {
    setChosen(id)
    if (id === '') return
    try {
      onChosen(await readQuery(id))
    } catch (error) {
      toastError(error, 'The saved query could not be read')
    }
  }
  return (
    <Select
      label="From a saved query"
      value={chosen}
      onValue={choose}
      choices={[
        { value: '', title: 'None: write a statement' },
        ...data.map(({ id, name }) => ({ value: id, title: name })),
      ]}
    />
  )
}

async function listQueries(signal: AbortSignal): Promise<{ id: string; name: string }[]> {
  const found: { id: string; name: string }[] = []
  for await (const { id, name } of gate.saved.list({ kind: 'query', limit: MOST }, { signal })) {
    found.push({ id, name })
    if (found.length === MOST) break
  }
  return found
}

async function readQuery(id: string): Promise<FromSaved> {
  const { kind, name, body } = await gate.saved.get(id)
  if (kind !== 'query' || body === undefined) throw new Error('This is not a query')
  const { description: _, view = 'table', ...shown } = body
  return { ...shown, view, title: name }
}
