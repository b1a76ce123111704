/** Questions before something is done that cannot be undone. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button, Dialog, TextField } from '../ui/index.ts'

export interface Question {
  readonly title: string
  /** Names what will be lost. */
  readonly text: ComponentChildren
  /** What the button says: the verb of the title, not "OK". */
  readonly action: string
  /** True where something is lost. */
  readonly danger?: boolean
  /** The user must type this, for the most serious losses. */
  readonly typed?: string
}

const asked = signal<{ readonly question: Question; readonly answer: (yes: boolean) => void } | undefined>(undefined)

/** Asks, and resolves with the answer. */
export function confirm(question: Question): Promise<boolean> {
  asked.value?.answer(false)
  return new Promise((resolve) => {
    asked.value = {
      question,
      answer(yes) {
        asked.value = undefined
        resolve(yes)
      },
    }
  })
}

export function Questions() {
  return asked.value === undefined ? null : <Ask key={asked.value.question.title} {...asked.value} />
}

function Ask({ question, answer }: { readonly question: Question; readonly answer: (yes: boolean) => void }) {
  const { title, text, action, danger = false, typed } = question
  const [given, setGiven] = useState('')
  const isAllowed = typed === undefined || given === typed
  return (
    <Dialog
      title={title}
      size="small"
      onClose={() => answer(false)}
      onSubmit={() => isAllowed && answer(true)}
      actions={
        <>
          <Button onClick={() => answer(false)}>Cancel</Button>
          <Button type="submit" kind={danger ? 'danger' : 'primary'} disabled={!isAllowed}>
            {action}
          </Button>
        </>
      }
    >
      <div>{text}</div>
      {typed !== undefined && (
        <TextField label={`Type “${typed}” to go on`} value={given} onValue={setGiven} autofocus />
      )}
    </Dialog>
  )
}
