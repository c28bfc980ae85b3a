import { Banner } from '@primer/react'

/** A notice above the submit button if the edited settings were changed elsewhere. */
export function ChangedElsewhere({ onLoad }: { onLoad(): void }) {
  return (
    <div role="status">
      <Banner
        variant="warning"
        title="Changed elsewhere"
        description="These settings were changed after you began to edit them. Saving changes only what you edited. Loading the new settings discards your edits."
        primaryAction={
          <Banner.PrimaryAction type="button" onClick={onLoad}>
            Load the new settings
          </Banner.PrimaryAction>
        }
      />
    </div>
  )
}
