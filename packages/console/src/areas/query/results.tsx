/** The results of the statements that were run together: one of them is shown, or all side by side. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { classes, Icon, IconButton } from '../../ui/index.ts'
import { Result } from './result.tsx'
import type { Outcome } from './run.ts'
import { readStored, writeStored } from './storage.ts'
import { changeTab, type QueryTab } from './tabs.ts'

export function Results({ tab, outcomes }: { readonly tab: QueryTab; readonly outcomes: readonly Outcome[] }) {
  const chosen = useSignal<number | undefined>(undefined)
  const isBeside = useSignal(readStored<boolean>('beside') ?? false)
  const first = outcomes[0]?.id
  // The last one is shown until the user chooses.
  useEffect(() => {
    chosen.value = undefined
  }, [first])
  const shown = outcomes.find(({ id }) => id === chosen.value) ?? outcomes.at(-1)
  if (shown === undefined) return null
  const areAllShown = isBeside.value && outcomes.length > 1
  const toggle = () => {
    isBeside.value = !isBeside.value
    writeStored('beside', isBeside.value)
  }
  return (
    <>
      {outcomes.length > 1 && (
        <nav class="query-outcomes" aria-label="Statements">
          {outcomes.map((outcome, index) => (
            <button
              key={outcome.id}
              type="button"
              class={classes('query-outcome', outcome === shown && !areAllShown && 'current')}
              aria-pressed={outcome === shown && !areAllShown}
              title={outcome.text.slice(0, 500)}
              onClick={() => {
                chosen.value = outcome.id
                if (areAllShown) toggle()
              }}
            >
              {outcome.state.value.kind === 'failed' && <Icon name="error" />}
              {index + 1}. {shortStatement(outcome)}
            </button>
          ))}
          <IconButton
            icon="columns"
            label="All results side by side"
            size="small"
            aria-pressed={areAllShown}
            onClick={toggle}
          />
        </nav>
      )}
      {areAllShown ? (
        <div class="query-beside">
          {outcomes.map((outcome, index) => (
            <ShownResult
              key={outcome.id}
              tab={tab}
              outcome={outcome}
              label={`${index + 1}. ${shortStatement(outcome)}`}
            />
          ))}
        </div>
      ) : (
        <ShownResult key={shown.id} tab={tab} outcome={shown} />
      )}
    </>
  )
}

function ShownResult({
  tab,
  outcome,
  label,
}: {
  readonly tab: QueryTab
  readonly outcome: Outcome
  readonly label?: string
}) {
  return (
    <Result
      outcome={outcome}
      tab={tab}
      label={label}
      onChart={(chart) => changeTab(tab.id, { chart })}
      onLive={(live) => changeTab(tab.id, { live })}
    />
  )
}

function shortStatement({ text }: Outcome): string {
  return text.replace(/\s+/g, ' ').slice(0, 32)
}
