/** A place to drop a CSV file on, or to choose one. */
import { useRef, useState } from 'preact/hooks'
import { Button, classes, Icon } from '../../ui/index.ts'

export function FileDrop({ label, onFile }: { readonly label: string; readonly onFile: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null)
  const [isOver, setOver] = useState(false)
  return (
    <section
      class={classes('drop', isOver && 'over')}
      aria-label={label}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        const file = event.dataTransfer?.files[0]
        if (file !== undefined) onFile(file)
      }}
    >
      <Icon name="upload" />
      <p>{label}</p>
      <Button size="small" onClick={() => input.current?.click()}>
        Choose a file
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        accept=".csv,.tsv,.txt,.parquet,.arrow,.feather,text/csv,text/tab-separated-values"
        aria-label="CSV file"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0]
          event.currentTarget.value = ''
          if (file !== undefined) onFile(file)
        }}
      />
    </section>
  )
}
