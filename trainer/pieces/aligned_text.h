#pragma once
// AlignedText: a text while normalisers change it, with the place in the original that each
// character comes from. A plain value.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/pieces/offset.h"

namespace dtl::trainer {

struct AlignedText {
  std::u32string characters;
  // [characters], positions in the original text, in code points. Inserted characters have the
  // position of the character that they come from. WordPiece leaves it empty if nobody asks for
  // offsets; the steps of text_steps.h always get and give it.
  std::vector<std::int32_t> places;

  void put(char32_t c, std::int32_t place) {
    characters.push_back(c);
    places.push_back(place);
  }

  // The original position of characters[begin, end), which must not be empty.
  Offset place(std::size_t begin, std::size_t end) const {
    return {places[begin], places[end - 1] + 1};
  }
};

}  // namespace dtl::trainer
