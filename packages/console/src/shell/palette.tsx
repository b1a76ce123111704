/** The command palette: Ctrl-K or Cmd-K, a few letters, Enter. It finds commands at once, and what the server knows as it answers. */
import { signal } from '@preact/signals'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { classes, Icon, Keys, useModal } from '../ui/index.ts'
import { word } from '../ui/word.ts'
import { type Command, commands, findCommands } from './commands.ts'
import { FOUND_GROUPS, findEverywhere } from './find.ts'

const isOpen = signal(false)

export function openPalette(): void {
  isOpen.value = true
}

export function Palette() {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return
      event.preventDefault()
      isOpen.value = !isOpen.value
    }
    // Before an editor takes the key.
    addEventListener('keydown', onKey, true)
    return () => removeEventListener('keydown', onKey, true)
  }, [])
  return isOpen.value ? <OpenPalette /> : null
}

const MOST_SHOWN = 50
/** While something is searched for. */
const MOST_COMMANDS = 6
/** Shorter texts match too much. */
const SHORTEST = 2
const PAUSE_MS = 120

function OpenPalette() {
  const id = useId()
  const dialog = useModal()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const list = useRef<HTMLDivElement>(null)
  const { found: others, isSearching } = useFound(text)
  const found = [...findCommands(commands.value, text).slice(0, text === '' ? MOST_SHOWN : MOST_COMMANDS), ...others]
  const current = found[Math.min(at, found.length - 1)]
  const close = () => {
    isOpen.value = false
  }
  const run = (command: Command | undefined) => {
    close()
    // After the dialog has given the focus back.
    if (command !== undefined) setTimeout(command.act)
  }
  useEffect(() => list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' }), [at, text])

  const onKeyDown = (event: KeyboardEvent) => {
    const steps = new Map([
      ['ArrowDown', 1],
      ['ArrowUp', -1],
    ])
    const step = steps.get(event.key)
    if (event.key === 'Enter') run(current)
    else if (step !== undefined && found.length > 0)
      setAt((Math.min(at, found.length - 1) + step + found.length) % found.length)
    else return
    event.preventDefault()
  }

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it too
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Commands"
      onCancel={close}
      onClick={(event) => event.target === event.currentTarget && close()}
    >
      <div class="palette-input">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Search commands"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={current && `${id}-${current.id}`}
          aria-autocomplete="list"
          autocomplete="off"
          spellcheck={false}
          placeholder="Search tables, boards, people, settings, documentation …"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setAt(0)
          }}
          onKeyDown={onKeyDown}
        />
        <Keys of="Esc" />
      </div>
      <div ref={list} id={id} class="palette-list" role="listbox" aria-label="Commands">
        {found.map((command, index) => (
          <Option
            key={command.id}
            id={`${id}-${command.id}`}
            command={command}
            selected={command === current}
            heading={
              groupHeading(command, text) === groupHeading(found[index - 1], text)
                ? undefined
                : groupHeading(command, text)
            }
            onPoint={() => setAt(index)}
            onChoose={() => run(command)}
          />
        ))}
      </div>
      {found.length === 0 && <p class="palette-none">{isSearching ? 'Searching …' : `Nothing matches “${text}”.`}</p>}
      <p class="visually-hidden" role="status">
        {text !== '' && !isSearching && (found.length === 1 ? '1 result' : `${found.length} results`)}
      </p>
    </dialog>
  )
}

/** Commands that match are one group; without a text they are listed by theirs. */
function groupHeading(command: Command | undefined, text: string): string | undefined {
  if (command === undefined) return undefined
  return text === '' || FOUND_GROUPS.includes(command.group) ? command.group : word('Commands')
}

/** What the server finds. Results stay while the next ones are awaited, so that the list does not jump. */
function useFound(text: string): { readonly found: readonly Command[]; readonly isSearching: boolean } {
  const [groups, setGroups] = useState<ReadonlyMap<string, readonly Command[]>>(new Map())
  const [answered, setAnswered] = useState('')
  const wanted = text.trim()
  useEffect(() => {
    if (wanted.length < SHORTEST) {
      setGroups(new Map())
      setAnswered(wanted)
      return
    }
    const abort = new AbortController()
    const timer = setTimeout(() => {
      findEverywhere(wanted, abort.signal, (group, found) =>
        setGroups((before) => new Map(before).set(group, found)),
      ).then(() => !abort.signal.aborted && setAnswered(wanted))
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [wanted])
  return { found: FOUND_GROUPS.flatMap((group) => groups.get(group) ?? []), isSearching: answered !== wanted }
}

function Option({
  id,
  command,
  selected,
  heading,
  onPoint,
  onChoose,
}: {
  readonly id: string
  readonly command: Command
  readonly selected: boolean
  readonly heading: string | undefined
  readonly onPoint: () => void
  readonly onChoose: () => void
}) {
  const { title, about, icon, keys } = command
  return (
    <>
      {heading !== undefined && (
        <div class="palette-group" role="presentation">
          {heading}
        </div>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the text field */}
      <div
        id={id}
        role="option"
        tabIndex={-1}
        aria-selected={selected}
        class={classes('palette-option', selected && 'selected')}
        onPointerMove={onPoint}
        onClick={onChoose}
      >
        <Icon name={icon ?? 'right'} />
        <span class="palette-title">{title}</span>
        {about !== undefined && <span class="palette-of">{about}</span>}
        {keys !== undefined && <Keys of={keys} />}
      </div>
    </>
  )
}
