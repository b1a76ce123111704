/** A tab of the area Query: editor, parameters and results, and what can be done with them. */
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { createCatalogue } from '../../editor/catalogue.ts'
import { Editor, type EditorHandle } from '../../editor/editor.tsx'
import { gate } from '../../gate.ts'
import { type Command, useCommands } from '../../shell/commands.ts'
import { go, href } from '../../shell/router.ts'
import { toast, toastError } from '../../shell/toasts.tsx'
import { useVisit } from '../../shell/visits.ts'
import { Button, copyText, ErrorNotice, IconButton, Keys, Menu, Page, useLoad } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { CodeDialogProps } from './code-dialog.tsx'
import { Examples } from './examples.tsx'
import { ParameterForm, valuesFor } from './parameters.tsx'
import { Results } from './results.tsx'
import { runPart, tabRun } from './run.ts'
import { useRunning } from './running.ts'
import { SaveDialog } from './save-dialog.tsx'
import { isOwn, updateSaved } from './saved.ts'
import { SidePanel } from './side-panel.tsx'
import { Splitter } from './splitter.tsx'
import { readStored, writeStored } from './storage.ts'
import { TabStrip } from './tab-strip.tsx'
import { addTab, changeTab, currentId, isChanged, newTab, type QueryTab, savedBody, tabHref, tabTitle } from './tabs.ts'

const catalogue = createCatalogue(gate)

type DialogName = 'save' | 'copy' | 'code'

export interface WorkbenchProps {
  readonly tab: QueryTab
  readonly failed: unknown
  /** Its statement came with the address: Ctrl-Enter runs it without a click. */
  readonly isFocused: boolean
}

export function Workbench({ tab, failed, isFocused }: WorkbenchProps) {
  const editor = useRef<EditorHandle | null>(null)
  useEffect(() => {
    if (isFocused) editor.current?.focus()
  }, [isFocused, tab.id])
  const dialog = useSignal<DialogName | undefined>(undefined)
  const isSideShown = useSignal(readStored<boolean>('side') ?? true)
  const { faults, runText, runHere, runAll, runExample } = useRunning(tab, editor)
  const { outcomes } = tabRun(tab.id).value
  const format = () => editor.current?.format()
  const save = () => {
    if (tab.saved === undefined || !isOwn(tab.saved)) dialog.value = tab.saved === undefined ? 'save' : 'copy'
    else void saveAgain(tab)
  }
  const toggleSide = () => {
    isSideShown.value = !isSideShown.value
    writeStored('side', isSideShown.value)
  }
  useVisit('query', tab.saved?.name ?? '', tab.saved && href('query', 'saved', tab.saved.id))
  useSaveKey(save)
  useCommands(() => queryCommands({ runHere, runAll, format, save }), [tab])
  return (
    <Page
      title="Query"
      full
      bar={<TabStrip />}
      actions={
        <>
          <IconButton
            icon="sidebar"
            label={isSideShown.value ? 'Hide the side panel' : 'Show tables, saved queries and history'}
            aria-pressed={isSideShown.value}
            onClick={toggleSide}
          />
          <TabActions
            tab={tab}
            onFormat={format}
            onSave={save}
            onRun={runHere}
            onDialog={(name) => {
              dialog.value = name
            }}
          />
        </>
      }
    >
      <div class="query-body">
        {isSideShown.value && (
          <SidePanel
            catalogue={catalogue}
            onName={(name) => editor.current?.insert(name)}
            onRows={(text) => {
              go(tabHref(addTab({ text })))
              void runPart(currentId.value, { from: 0, to: text.length, text }, {})
            }}
          />
        )}
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
                diagnostics={faults}
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
              outcomes.length === 0 ? (
                <Examples catalogue={catalogue} onExample={runExample} />
              ) : (
                <Results tab={tab} outcomes={outcomes} />
              )
            }
          />
        </div>
      </div>
      <OpenDialog
        name={dialog.value}
        tab={tab}
        editor={editor}
        onClose={() => {
          dialog.value = undefined
        }}
      />
    </Page>
  )
}

/** Loaded when it is first opened. */
function CodeDialog(props: CodeDialogProps) {
  const { data, error } = useLoad(() => import('./code-dialog.tsx'), [])
  useEffect(() => {
    if (error === undefined) return
    toastError(error, 'The dialog could not be loaded')
    props.onClose()
  }, [error])
  return data === undefined ? null : <data.CodeDialog {...props} />
}

function OpenDialog({
  name,
  tab,
  editor,
  onClose,
}: {
  readonly name: DialogName | undefined
  readonly tab: QueryTab
  readonly editor: RefObject<EditorHandle | null>
  readonly onClose: () => void
}) {
  if (name === undefined) return null
  if (name !== 'code') return <SaveDialog tab={tab} copy={name === 'copy'} onClose={onClose} />
  const text = editor.current?.part()?.text ?? tab.text
  return <CodeDialog text={text} parameters={valuesFor(text, tab.parameters)} onClose={onClose} />
}

function queryCommands({
  runHere,
  runAll,
  format,
  save,
}: Readonly<Record<'runHere' | 'runAll' | 'format' | 'save', () => void>>): readonly Command[] {
  const group = word('Query')
  return [
    { id: 'query-run', title: 'Run the statement', group, icon: 'play', keys: 'Mod Enter', act: runHere },
    { id: 'query-run-all', title: 'Run all statements', group, icon: 'play', keys: 'Mod Shift Enter', act: runAll },
    { id: 'query-format', title: 'Format the text', group, icon: 'code', keys: 'Shift Alt F', act: format },
    { id: 'query-save', title: 'Save the query', group, icon: 'save', keys: 'Mod S', act: save },
    { id: 'query-new', title: 'New query', group, icon: 'plus', words: 'tab', act: () => go(tabHref(newTab())) },
  ]
}

function TabActions({
  tab,
  onFormat,
  onSave,
  onRun,
  onDialog,
}: {
  readonly tab: QueryTab
  readonly onFormat: () => void
  readonly onSave: () => void
  readonly onRun: () => void
  readonly onDialog: (name: DialogName) => void
}) {
  const { isRunning, cancel } = tabRun(tab.id).value
  const hasText = tab.text.trim() !== ''
  return (
    <>
      <Button icon="code" disabled={!hasText} onClick={onFormat} title="Format (Shift-Alt-F)">
        Format
      </Button>
      <Button icon="save" disabled={!hasText || (tab.saved !== undefined && !isChanged(tab))} onClick={onSave}>
        Save
      </Button>
      <TabMenu tab={tab} onDialog={onDialog} />
      {isRunning ? (
        <Button kind="danger" icon="stop" onClick={cancel}>
          Cancel
        </Button>
      ) : (
        <Button kind="primary" icon="play" disabled={!hasText} onClick={onRun}>
          Run <Keys of="Mod Enter" />
        </Button>
      )}
    </>
  )
}

function TabMenu({ tab, onDialog }: { readonly tab: QueryTab; readonly onDialog: (name: DialogName) => void }) {
  const hasText = tab.text.trim() !== ''
  const copyLink = async () => {
    const link = tab.saved === undefined ? href('query', { q: tab.text }) : tabHref(tab)
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
    const saved = await updateSaved(tab, { body: savedBody(tab) })
    if (saved !== undefined) toast(`“${saved.name}” was saved`)
  } catch (error) {
    toastError(error, `“${tabTitle(tab)}” was not saved`)
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
