/** Running the text of a tab, and the faults that the server finds in it. */
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useRef } from 'preact/hooks'
import { QueryError } from '../../../../client/src/index.ts'
import { type Fault, faultAt } from '../../editor/check.ts'
import type { EditorHandle } from '../../editor/editor.tsx'
import type { Part } from '../../editor/scan.ts'
import { announce } from '../../shell/announce.tsx'
import { rowCount } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'
import type { Example } from './examples.tsx'
import { valuesFor } from './parameters.tsx'
import { type Outcome, runPart, tabRun } from './run.ts'
import { changeTab, currentTab, type QueryTab } from './tabs.ts'

export function useRunning(tab: QueryTab, editor: RefObject<EditorHandle | null>) {
  const faults = useSignal<readonly Fault[] | undefined>(undefined)
  const text = useRef(tab.text)
  text.current = tab.text
  const runText = async (part: Part | undefined) => {
    if (part === undefined) return
    faults.value = []
    await runPart(tab.id, part, valuesFor(text.current, currentTab.value?.parameters ?? {}))
    const last = tabRun(tab.id).value.outcomes.at(-1)
    if (last === undefined) return
    announce(describeOutcome(last))
    faults.value = faultsFrom(last, text.current)
  }
  return {
    faults: faults.value,
    runText,
    /** The statement at the cursor, or what is selected. */
    runHere: () => void runText(editor.current?.part() ?? wholeText(tab.text)),
    runAll: () => void runText(wholeText(tab.text)),
    runExample({ text: example, chart, live = false }: Example) {
      changeTab(tab.id, { text: example, live, chart: chart ?? { view: 'table' } })
      text.current = example
      void runText(wholeText(example))
    },
  }
}

function wholeText(text: string): Part {
  return { from: 0, to: text.length, text }
}

function describeOutcome({ state, model }: Outcome): string {
  const { kind } = state.value
  if (kind === 'failed') return 'The statement failed'
  if (kind === 'cancelled') return word('Cancelled')
  const written = state.value.kind === 'done' ? state.value.rowsAffected : undefined
  return written === undefined ? rowCount(model.value?.total ?? 0) : `${rowCount(written)} affected`
}

/** Where the server says that the text is wrong, unless it has been changed since. */
function faultsFrom({ state, from, text: sent }: Outcome, text: string): readonly Fault[] {
  const { value } = state
  if (value.kind !== 'failed' || !(value.error instanceof QueryError)) return []
  const { position, message, hint } = value.error
  if (position === undefined || text.slice(from, from + sent.length) !== sent) return []
  return [faultAt(text, from + position.offset, message, hint)]
}
