/** The area Query: tabs with an editor each, parameters, and results below. */
import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { QueryError } from '../../../../client/src/index.ts'
import { catalogueOf } from '../../editor/catalogue.ts'
import { type Fault, faultAt } from '../../editor/check.ts'
import { Editor, type EditorHandle } from '../../editor/editor.tsx'
import type { Part } from '../../editor/scan.ts'
import { gate } from '../../gate.ts'
import { announce } from '../../shell/announce.tsx'
import type { AreaProps } from '../../shell/area.ts'
import { useCommands } from '../../shell/commands.ts'
import { go, href } from '../../shell/router.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import { Button, copyText, count, ErrorNotice, IconButton, Keys, Menu, Page } from '../../ui/index.ts'
import { CodeDialog } from './code-dialog.tsx'
import { type Example, Examples } from './examples.tsx'
import { startHistory } from './history.ts'
import { ParameterForm, valuesFor } from './parameters.tsx'
import './query.css'
import { Results } from './results.tsx'
import { type Outcome, runOf, runPart } from './run.ts'
import { SaveDialog } from './save-dialog.tsx'
import { isOwn, readSaved, updateSaved } from './saved.ts'
import { SidePanel } from './side-panel.tsx'
import { Splitter } from './splitter.tsx'
import { readStored, writeStored } from './storage.ts'
import { TabStrip } from './tab-strip.tsx'
import {
  addressOf,
  addTab,
  bodyOf,
  changeTab,
  currentId,
  currentTab,
  fromSaved,
  isChanged,
  newTab,
  type QueryTab,
  startTabs,
  tabs,
  titleOf,
} from './tabs.ts'

const catalogue = catalogueOf(gate)

export default function Query({ path, query }: AreaProps) {
  const isReady = useSignal(false)
  useEffect(() => {
    const stop = startTabs()
    startHistory()
    isReady.value = true
    return stop
  }, [])
  const failed = useAddress(path, query, isReady.value)
  const tab = currentTab.value
  if (!isReady.value || tab === undefined) return null
  return <Workbench tab={tab} failed={failed} />
}

/** Shows what the address names, and names in it what is shown. */
function useAddress(path: readonly string[], query: URLSearchParams, isReady: boolean): unknown {
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
      if (text !== null) addTab({ text, parameters: parametersIn(query) })
      else if (tabs.value.some((tab) => tab.id === tabId)) currentId.value = tabId ?? ''
      if (currentTab.value !== undefined) go(addressOf(currentTab.value), { replace: true })
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

function Workbench({ tab, failed }: { readonly tab: QueryTab; readonly failed: unknown }) {
  const editor = useRef<EditorHandle | null>(null)
  const dialog = useSignal<'save' | 'copy' | 'code' | undefined>(undefined)
  const faults = useSignal<readonly Fault[] | undefined>(undefined)
  const isSideShown = useSignal(readStored<boolean>('side') ?? true)
  const run = runOf(tab.id).value
  const text = useRef(tab.text)
  text.current = tab.text

  const runText = async (part: Part | undefined) => {
    if (part === undefined) return
    faults.value = []
    await runPart(tab.id, part, valuesFor(text.current, currentTab.value?.parameters ?? {}))
    const last = runOf(tab.id).value.outcomes.at(-1)
    if (last === undefined) return
    announce(tellOutcome(last))
    faults.value = faultsFrom(last, text.current)
  }
  const runHere = () => void runText(editor.current?.part() ?? { from: 0, to: tab.text.length, text: tab.text })
  const runAll = () => void runText({ from: 0, to: tab.text.length, text: tab.text })
  const runExample = ({ text: example, chart, live = false }: Example) => {
    changeTab(tab.id, { text: example, live, chart: chart ?? { view: 'table' } })
    text.current = example
    void runText({ from: 0, to: example.length, text: example })
  }
  const save = () => {
    if (tab.saved === undefined || !isOwn(tab.saved)) dialog.value = tab.saved === undefined ? 'save' : 'copy'
    else void saveAgain(tab)
  }
  const toggleSide = () => {
    isSideShown.value = !isSideShown.value
    writeStored('side', isSideShown.value)
  }
  useSaveKey(save)
  useCommands(
    () => [
      { id: 'query-run', title: 'Run the statement', group: 'Query', icon: 'play', keys: 'Mod Enter', act: runHere },
      {
        id: 'query-run-all',
        title: 'Run all statements',
        group: 'Query',
        icon: 'play',
        keys: 'Mod Shift Enter',
        act: runAll,
      },
      {
        id: 'query-format',
        title: 'Format the text',
        group: 'Query',
        icon: 'code',
        keys: 'Shift Alt F',
        act: () => editor.current?.format(),
      },
      { id: 'query-save', title: 'Save the query', group: 'Query', icon: 'save', keys: 'Mod S', act: save },
      {
        id: 'query-new',
        title: 'New query',
        group: 'Query',
        icon: 'plus',
        words: 'tab',
        act: () => go(addressOf(newTab())),
      },
    ],
    [tab],
  )
  const hasText = tab.text.trim() !== ''
  return (
    <Page
      title="Query"
      full
      bar={<TabStrip />}
      actions={
        <>
          <IconButton
            icon="sidebar"
            label={isSideShown.value ? 'Hide saved queries and history' : 'Show saved queries and history'}
            aria-pressed={isSideShown.value}
            onClick={toggleSide}
          />
          <Button icon="code" disabled={!hasText} onClick={() => editor.current?.format()} title="Format (Shift-Alt-F)">
            Format
          </Button>
          <Button icon="save" disabled={!hasText || (tab.saved !== undefined && !isChanged(tab))} onClick={save}>
            Save
          </Button>
          <TabMenu tab={tab} onDialog={(name) => (dialog.value = name)} />
          {run.isRunning ? (
            <Button kind="danger" icon="stop" onClick={run.cancel}>
              Cancel
            </Button>
          ) : (
            <Button kind="primary" icon="play" disabled={!hasText} onClick={runHere}>
              Run <Keys of="Mod Enter" />
            </Button>
          )}
        </>
      }
    >
      <div class="query-body">
        {isSideShown.value && <SidePanel />}
        <div class="query-main">
          {failed !== undefined && (
            <div class="query-result-message">
              <ErrorNotice error={failed} title="The saved query could not be opened" />
            </div>
          )}
          <Splitter
            top={
              <Editor
                label="Statement"
                name={tab.id}
                value={tab.text}
                onChange={(value) => changeTab(tab.id, { text: value })}
                onRun={runText}
                diagnostics={faults.value}
                complete={catalogue}
                placeholder="select … from …"
                handle={editor}
              />
            }
            middle={
              <ParameterForm
                text={tab.text}
                values={tab.parameters}
                onValues={(parameters) => changeTab(tab.id, { parameters })}
                catalogue={catalogue}
                onRun={runHere}
              />
            }
            bottom={
              run.outcomes.length === 0 ? (
                <Examples catalogue={catalogue} onExample={runExample} />
              ) : (
                <Results tab={tab} outcomes={run.outcomes} />
              )
            }
          />
        </div>
      </div>
      {dialog.value === 'code' && (
        <CodeDialog
          text={editor.current?.part()?.text ?? tab.text}
          parameters={valuesFor(editor.current?.part()?.text ?? tab.text, tab.parameters)}
          onClose={() => (dialog.value = undefined)}
        />
      )}
      {(dialog.value === 'save' || dialog.value === 'copy') && (
        <SaveDialog tab={tab} copy={dialog.value === 'copy'} onClose={() => (dialog.value = undefined)} />
      )}
    </Page>
  )
}

function TabMenu({
  tab,
  onDialog,
}: {
  readonly tab: QueryTab
  readonly onDialog: (name: 'save' | 'copy' | 'code') => void
}) {
  const hasText = tab.text.trim() !== ''
  const copyLink = async () => {
    const link = tab.saved === undefined ? href('query', { q: tab.text }) : addressOf(tab)
    await copyText(new URL(link, location.origin).href)
    toast(tab.saved === undefined ? 'A link with the text was copied' : 'The link was copied')
  }
  return (
    <Menu
      label="More"
      items={[
        {
          title: 'Name and share …',
          icon: 'edit',
          disabled: tab.saved === undefined || !isOwn(tab.saved),
          act: () => onDialog('save'),
        },
        { title: 'Save a copy …', icon: 'save', disabled: !hasText, act: () => onDialog('copy') },
        'line',
        { title: 'Copy as curl, TypeScript, Python …', icon: 'code', disabled: !hasText, act: () => onDialog('code') },
        { title: 'Copy a link', icon: 'link', disabled: !hasText, act: () => void copyLink() },
      ]}
    />
  )
}

async function saveAgain(tab: QueryTab): Promise<void> {
  try {
    const saved = await updateSaved(tab, { body: bodyOf(tab) })
    if (saved !== undefined) toast(`“${saved.name}” was saved`)
  } catch (error) {
    toastError(error, `“${titleOf(tab)}” was not saved`)
  }
}

/** Ctrl-S saves, as everywhere. */
function useSaveKey(save: () => void): void {
  const latest = useRef(save)
  latest.current = save
  const listen = useMemo(
    () => (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
      event.preventDefault()
      latest.current()
    },
    [],
  )
  useEffect(() => {
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [])
}

function tellOutcome({ state, model }: Outcome): string {
  const { kind } = state.value
  if (kind === 'failed') return 'The statement failed'
  if (kind === 'cancelled') return 'Cancelled'
  const written = state.value.kind === 'done' ? state.value.rowsAffected : undefined
  return written === undefined ? `${count(model.value?.total ?? 0)} rows` : `${count(written)} rows affected`
}

/** Where the server says that the text is wrong, unless it has been changed since. */
function faultsFrom({ state, from, text: sent }: Outcome, text: string): readonly Fault[] {
  const { value } = state
  if (value.kind !== 'failed' || !(value.error instanceof QueryError)) return []
  const { position, message, hint } = value.error
  if (position === undefined || text.slice(from, from + sent.length) !== sent) return []
  return [faultAt(text, from + position.offset, message, hint)]
}
