/** Questions before something is done that cannot be undone. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { FormDialog, TextField } from '../ui/index.ts'

export interface Question {
  readonly title: string
  /** Names what will be lost. */
  readonly text: ComponentChildren
  /** What the button says: the verb of the title, not "OK". */
  readonly action: string
  /** True where something is lost. */
  readonly danger?: boolean
  /** A text that the user has to type before the worst losses. */
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
    <FormDialog
      title={title}
      size="small"
      action={action}
      danger={danger}
      disabled={!isAllowed}
      onClose={() => answer(false)}
      onSubmit={() => isAllowed && answer(true)}
    >
      <div>{text}</div>
      {typed !== undefined && (
        <TextField label={`Type “${typed}” to continue`} value={given} onValue={setGiven} autofocus />
      )}
    </FormDialog>
  )
}
