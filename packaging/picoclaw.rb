# A Homebrew formula for a tap. It installs the one file of a release, which brings its own runtime.
# scripts/formula.ts fills in the version and the checksums of release/SHA256SUMS.
class Picoclaw < Formula
  desc "Coding agent whose every job can be undone exactly"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "@BASE@/picoclaw-@VERSION@-darwin-aarch64"
      sha256 "@SHA256:darwin-aarch64@"
    end
    on_intel do
      url "@BASE@/picoclaw-@VERSION@-darwin-x64"
      sha256 "@SHA256:darwin-x64@"
    end
  end

  on_linux do
    on_arm do
      url "@BASE@/picoclaw-@VERSION@-linux-aarch64"
      sha256 "@SHA256:linux-aarch64@"
    end
    on_intel do
      url "@BASE@/picoclaw-@VERSION@-linux-x64"
      sha256 "@SHA256:linux-x64@"
    end
  end

  def install
    bin.install Dir["picoclaw-*"].first => "picoclaw"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/picoclaw --version")
  end
end
