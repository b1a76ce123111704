/** The dialog "Copy as": the statement as code, to be run elsewhere. */
import { useSignal } from '@preact/signals'
import { server } from '../../server.ts'
import { Code, Dialog, Segments } from '../../ui/index.ts'
import { type CodeLanguage, codeFor, type GivenParameters, LANGUAGES } from './copy-as.ts'

export interface CodeDialogProps {
  readonly text: string
  readonly parameters: GivenParameters
  readonly onClose: () => void
}

export function CodeDialog({ text, parameters, onClose }: CodeDialogProps) {
  const language = useSignal<CodeLanguage>('curl')
  const title = LANGUAGES.find(({ value }) => value === language.value)?.title ?? ''
  return (
    <Dialog title="Copy as code" size="wide" onClose={onClose}>
      <Segments
        label="Language"
        value={language.value}
        onValue={(value) => {
          language.value = value
        }}
        choices={LANGUAGES}
      />
      <Code label={title} text={codeFor(language.value, server.issuer, text, parameters)} />
      <p class="quiet">
        <code>TOKEN</code> is an environment variable with an access token of the platform. Never write a token into a
        program.
      </p>
    </Dialog>
  )
}
