/** The area Query: the tab that the address names. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { AreaProps } from '../../shell/area.ts'
import { go } from '../../shell/router.ts'
import { startHistory } from './history.ts'
import './query.css'
import { readSaved } from './saved.ts'
import { addTab, currentId, currentTab, fromSaved, startTabs, tabHref, tabs } from './tabs.ts'
import { Workbench } from './workbench.tsx'

export default function Query({ path, query }: AreaProps) {
  const isReady = useSignal(false)
  useEffect(() => {
    const stop = startTabs()
    startHistory()
    isReady.value = true
    return stop
  }, [])
  const opened = useSignal('')
  const failed = useAddress(path, query, isReady.value, (id) => {
    opened.value = id
  })
  const tab = currentTab.value
  if (!isReady.value || tab === undefined) return null
  return <Workbench tab={tab} failed={failed} isFocused={opened.value === tab.id} />
}

/** Keeps the URL and the shown tab in sync; `onOpened` gets the id of a tab with the statement of the URL. */
function useAddress(
  path: readonly string[],
  query: URLSearchParams,
  isReady: boolean,
  onOpened: (id: string) => void,
): unknown {
  const failed = useSignal<unknown>(undefined)
  const address = `${path.join('/')}?${query}`
  useEffect(() => {
    if (!isReady) return
    failed.value = undefined
    const abort = new AbortController()
    const [kind, id = ''] = path
    const [text, tabId] = [query.get('q'), query.get('tab')]
    if (kind === 'saved' && id !== '') {
      openSaved(id, abort.signal).catch((error) => {
        if (!abort.signal.aborted) failed.value = error
      })
    } else {
      if (text !== null) onOpened(addTab({ text, parameters: parametersIn(query) }).id)
      else if (tabs.value.some((tab) => tab.id === tabId)) currentId.value = tabId ?? ''
      if (currentTab.value !== undefined) go(tabHref(currentTab.value), { replace: true })
    }
    return () => abort.abort()
  }, [address, isReady])
  return failed.value
}

/** As the query string of the API has them: `p.symbol=ACME`. */
function parametersIn(query: URLSearchParams): Record<string, string> {
  const given = [...query].filter(([name]) => name.startsWith('p.'))
  return Object.fromEntries(given.map(([name, value]) => [name.slice(2), value]))
}

async function openSaved(id: string, signal: AbortSignal): Promise<void> {
  const open = tabs.value.find(({ saved }) => saved?.id === id)
  if (open !== undefined) {
    currentId.value = open.id
    return
  }
  const { id: _, title: __, ...members } = fromSaved(await readSaved(id, signal))
  if (!signal.aborted) addTab(members)
}
