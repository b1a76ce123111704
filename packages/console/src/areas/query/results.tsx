/** The results of the statements that were run together; of several, one is shown. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { classes, Icon } from '../../ui/index.ts'
import { Result } from './result.tsx'
import type { Outcome } from './run.ts'
import { changeTab, type QueryTab, titleOf } from './tabs.ts'

export function Results({ tab, outcomes }: { readonly tab: QueryTab; readonly outcomes: readonly Outcome[] }) {
  const chosen = useSignal<number | undefined>(undefined)
  const first = outcomes[0]?.id
  // The last one is shown until the user chooses.
  useEffect(() => {
    chosen.value = undefined
  }, [first])
  const shown = outcomes.find(({ id }) => id === chosen.value) ?? outcomes.at(-1)
  if (shown === undefined) return null
  return (
    <>
      {outcomes.length > 1 && (
        <nav class="query-outcomes" aria-label="Statements">
          {outcomes.map((outcome, index) => (
            <button
              key={outcome.id}
              type="button"
              class={classes('query-outcome', outcome === shown && 'current')}
              aria-pressed={outcome === shown}
              title={outcome.text.slice(0, 500)}
              onClick={() => {
                chosen.value = outcome.id
              }}
            >
              {outcome.state.value.kind === 'failed' && <Icon name="error" />}
              {index + 1}. {outcome.text.replace(/\s+/g, ' ').slice(0, 32)}
            </button>
          ))}
        </nav>
      )}
      <Result
        key={shown.id}
        outcome={shown}
        name={titleOf(tab)}
        chart={tab.chart}
        onChart={(chart) => changeTab(tab.id, { chart })}
        live={tab.live}
        onLive={(live) => changeTab(tab.id, { live })}
      />
    </>
  )
}
