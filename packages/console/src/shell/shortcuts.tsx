/** The list of keyboard shortcuts: `?` outside a field, or the palette. */
import { signal } from '@preact/signals'
import { Fragment } from 'preact'
import { useEffect } from 'preact/hooks'
import { Dialog, Keys, keyNames } from '../ui/index.ts'
import { word } from '../ui/word.ts'

const isOpen = signal(false)

export function openShortcuts(): void {
  isOpen.value = true
}

const SHORTCUTS: readonly (readonly [group: string, keys: readonly (readonly [keys: string, what: string])[]])[] = [
  [
    word('Everywhere'),
    [
      ['Mod K', 'Search and run commands'],
      ['?', 'Show this list'],
      ['Esc', 'Close what is open'],
    ],
  ],
  [
    word('Query'),
    [
      ['Mod Enter', 'Run the statement at the cursor, or the selection'],
      ['Mod Shift Enter', 'Run all statements'],
      ['Ctrl Space', word('Complete')],
      ['Shift Alt F', 'Format the text'],
      ['Mod S', word('Save')],
      ['Mod F', 'Find in the text'],
      ['Mod /', 'Toggle a comment'],
    ],
  ],
  [
    'Results and tables',
    [
      ['Enter', 'Open the cell'],
      ['Space', 'Show the row'],
      ['Mod C', 'Copy the selection'],
      ['Mod A', 'Select everything'],
      ['Alt ↓', 'In a header: the menu of the column'],
      ['Alt →', 'In a header: widen the column'],
    ],
  ],
]

export function Shortcuts() {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const [target] = event.composedPath()
      const isTyped = target instanceof HTMLElement && (target.isContentEditable || target.matches(FIELDS))
      if (event.key !== '?' || event.ctrlKey || event.metaKey || event.altKey || isTyped) return
      event.preventDefault()
      isOpen.value = true
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  if (!isOpen.value) return null
  return (
    <Dialog
      title="Keyboard shortcuts"
      onClose={() => {
        isOpen.value = false
      }}
    >
      <div class="shortcuts">
        {SHORTCUTS.map(([group, keys]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {keys.map(([of, what]) => (
                <Fragment key={of}>
                  <dt>
                    <Keys of={of} />
                    <span class="visually-hidden">{keyNames(of).join(' ')}</span>
                  </dt>
                  <dd>{what}</dd>
                </Fragment>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}

const FIELDS = 'input, textarea, select'
