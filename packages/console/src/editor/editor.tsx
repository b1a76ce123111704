/** The editor of statements: CodeMirror in a shadow root, where its styles are adopted sheets that the policy allows. */
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { bracketMatching } from '@codemirror/language'
import { type Diagnostic, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { EditorState, type Extension, Prec } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  placeholder as showPlaceholder,
} from '@codemirror/view'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Catalogue } from './catalogue.ts'
import { type Fault, faultOfExpression, findFaults } from './check.ts'
import { completionSources } from './complete.ts'
import { type Expression, expressionSource } from './complete-expression.ts'
import { iql } from './language.ts'
import { type Part, statementAt } from './scan.ts'
import { searchOnDemand } from './search.ts'
import { theme } from './theme.ts'

export interface EditorProps {
  /** Read aloud. */
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  /** Ctrl-Enter: the selection, or the statement at the cursor. With Shift: all. */
  readonly onRun?: ((part: Part) => void) | undefined
  /** Another document: it has its own history of changes, and its own cursor. */
  readonly name?: string | undefined
  /** What the server found; it is underlined until the text changes. */
  readonly diagnostics?: readonly Fault[] | undefined
  /** Where tables and columns come from: `createCatalogue(gate)`. */
  readonly complete?: Catalogue | undefined
  readonly placeholder?: string | undefined
  /** The text is a condition alone, not statements: what it may name. */
  readonly expression?: Expression | undefined
  /** Is set to the functions that buttons outside the editor call. */
  readonly handle?: { current: EditorHandle | null } | undefined
}

export interface EditorHandle {
  focus(): void
  /** What Ctrl-Enter would run. */
  part(): Part | undefined
  format(): void
  /** Puts a word at the cursor, with spaces around it where they are needed. */
  insert(word: string): void
  /** Shows a place of the text. */
  reveal(position: number): void
}

/** The parser waits for a pause in typing. */
const CHECK_AFTER_MS = 350
const KEPT_DOCUMENTS = 20

export function Editor(props: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const latest = useRef(props)
  latest.current = props
  const view = useRef<EditorView | null>(null)
  const kept = useRef(new Map<string, EditorState>())
  const shown = useRef(props.name)
  const checker = useRef(new Checker()).current
  useLayoutEffect(() => {
    const element = host.current as HTMLDivElement
    const root = element.shadowRoot ?? element.attachShadow({ mode: 'open', delegatesFocus: true })
    const opened = new EditorView({ root, parent: root, state: createState(latest, checker, props.value) })
    view.current = opened
    if (props.handle !== undefined) props.handle.current = createHandle(opened)
    return () => {
      if (props.handle !== undefined) props.handle.current = null
      opened.destroy()
    }
  }, [])
  // In a layout effect, before the next key: later, an older value would look like a change from outside.
  useLayoutEffect(() => {
    const current = view.current
    if (current === null) return
    if (shown.current !== props.name) {
      keep(kept.current, shown.current ?? '', current.state)
      shown.current = props.name
      const before = kept.current.get(props.name ?? '')
      current.setState(before?.doc.toString() === props.value ? before : createState(latest, checker, props.value))
    } else if (current.state.doc.toString() !== props.value)
      current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: props.value } })
  }, [props.value, props.name])
  useLayoutEffect(() => {
    const current = view.current
    if (current === null || props.diagnostics === undefined) return
    // The server knows more than the parser.
    checker.cancel()
    show(current, props.diagnostics)
  }, [props.diagnostics])
  return <div ref={host} class="editor" />
}

function keep(kept: Map<string, EditorState>, name: string, state: EditorState): void {
  kept.delete(name)
  kept.set(name, state)
  const [oldest] = kept.keys()
  if (kept.size > KEPT_DOCUMENTS && oldest !== undefined) kept.delete(oldest)
}

function createState(latest: { readonly current: EditorProps }, checker: Checker, doc: string): EditorState {
  const { label, placeholder = '', expression } = latest.current
  return EditorState.create({
    doc,
    extensions: [
      Prec.high(keymap.of(commands(latest))),
      EditorView.contentAttributes.of({ 'aria-label': label }),
      EditorView.updateListener.of(({ docChanged, view }) => {
        if (!docChanged) return
        checker.start(view, expression === undefined ? findFaults : faultOfExpression)
        latest.current.onChange(view.state.doc.toString())
      }),
      autocompletion({
        override:
          expression === undefined
            ? [...completionSources(() => latest.current.complete)]
            : [expressionSource(() => latest.current.expression ?? expression)],
        maxRenderedOptions: 60,
        // The text on the right says what kind of word it is.
        icons: false,
      }),
      showPlaceholder(placeholder),
      ...(expression === undefined ? [lineNumbers(), highlightActiveLineGutter()] : []),
      common,
    ],
  })
}

const common: Extension = [
  highlightActiveLine(),
  drawSelection(),
  history(),
  bracketMatching(),
  closeBrackets(),
  EditorView.lineWrapping,
  typeOver(),
  searchOnDemand,
  keymap.of([
    // Tab leaves the editor unless it accepts a completion, so that the keyboard is never trapped.
    { key: 'Tab', run: acceptCompletion },
    ...closeBracketsKeymap,
    ...completionKeymap,
    ...historyKeymap,
    ...lintKeymap,
    ...defaultKeymap,
  ]),
  iql,
  theme,
]

function commands(latest: { readonly current: EditorProps }) {
  const run = (view: EditorView, part: Part | undefined): boolean => {
    closeCompletion(view)
    if (part !== undefined) latest.current.onRun?.(part)
    return latest.current.onRun !== undefined
  }
  return [
    { key: 'Mod-Enter', run: (view: EditorView) => run(view, selectedPart(view)) },
    { key: 'Mod-Shift-Enter', run: (view: EditorView) => run(view, wholePart(view)) },
    { key: 'Shift-Alt-f', run: formatIn },
  ]
}

function createHandle(view: EditorView): EditorHandle {
  return {
    focus: () => view.focus(),
    part: () => selectedPart(view),
    format: () => formatIn(view),
    insert: (word) => insertIn(view, word),
    reveal(position) {
      view.dispatch({ selection: { anchor: Math.min(position, view.state.doc.length) }, scrollIntoView: true })
      view.focus()
    },
  }
}

function selectedPart({ state }: EditorView): Part | undefined {
  const { from, to, empty, head } = state.selection.main
  const selected = state.sliceDoc(from, to)
  return !empty && selected.trim() !== '' ? { from, to, text: selected } : statementAt(state.doc.toString(), head)
}

function wholePart({ state }: EditorView): Part | undefined {
  const text = state.doc.toString()
  return text.trim() === '' ? undefined : { from: 0, to: text.length, text }
}

/** The formatter is loaded when it is first used. */
async function formatText(view: EditorView): Promise<void> {
  const { format } = await import('./format.ts')
  const before = view.state.doc.toString()
  const after = format(before)
  if (after === before) return
  view.dispatch({
    changes: { from: 0, to: before.length, insert: after },
    selection: { anchor: 0 },
    userEvent: 'format',
  })
}

function formatIn(view: EditorView): boolean {
  void formatText(view)
  return true
}

function insertIn(view: EditorView, word: string): void {
  const { from, to } = view.state.selection.main
  const [before, after] = [view.state.sliceDoc(from - 1, from), view.state.sliceDoc(to, to + 1)]
  const text = (/[\w",)*]/.test(before) ? ' ' : '') + word + (/[\w"]/.test(after) ? ' ' : '')
  view.dispatch({
    changes: { from, to, insert: text },
    selection: { anchor: from + text.length },
    userEvent: 'input',
    scrollIntoView: true,
  })
  view.focus()
}

/** When a selection is typed over, Chromium wraps the text in an element with an inline style, which the policy forbids. */
function typeOver(): Extension {
  return EditorView.domEventHandlers({
    beforeinput(event, view) {
      const { data, inputType } = event
      const { from, to, empty } = view.state.selection.main
      if (inputType !== 'insertText' || data === null || empty || view.composing) return false
      event.preventDefault()
      const insert = () =>
        view.state.update({
          changes: { from, to, insert: data },
          selection: { anchor: from + data.length },
          userEvent: 'input.type',
          scrollIntoView: true,
        })
      const handlers = view.state.facet(EditorView.inputHandler)
      if (!handlers.some((handle) => handle(view, from, to, data, insert))) view.dispatch(insert())
      return true
    },
  })
}

/** Underlines what the parser refuses, a moment after the last key. */
class Checker {
  #timer: ReturnType<typeof setTimeout> | undefined

  start(view: EditorView, find: (text: string) => readonly Fault[]): void {
    this.cancel()
    this.#timer = setTimeout(() => {
      if (!view.dom.isConnected) return
      const faults = find(view.state.doc.toString())
      show(
        view,
        faults.filter((fault) => !isBeingTyped(view, fault)),
      )
    }, CHECK_AFTER_MS)
  }

  cancel(): void {
    clearTimeout(this.#timer)
  }
}

/** Something missing at the cursor is probably about to be typed. */
function isBeingTyped({ state }: EditorView, { to, isMissing = false }: Fault): boolean {
  const { head } = state.selection.main
  return isMissing && head >= to && state.sliceDoc(to, head).trim() === ''
}

function show(view: EditorView, faults: readonly Fault[]): void {
  const { length } = view.state.doc
  const diagnostics = faults.map(({ from, to, message, hint }): Diagnostic => {
    const start = Math.min(from, length)
    return {
      from: start,
      to: Math.min(Math.max(to, start), length),
      severity: 'error',
      message: hint === undefined ? message : `${message}. ${hint}`,
      renderMessage: () => messageBox(message, hint),
    }
  })
  view.dispatch(setDiagnostics(view.state, diagnostics))
}

function messageBox(message: string, hint: string | undefined): HTMLElement {
  const box = document.createElement('div')
  for (const text of [message, hint]) {
    if (text === undefined) continue
    const line = document.createElement('div')
    line.textContent = text
    box.append(line)
  }
  return box
}
