"""The case study: whom to train, from the NSW experiment, by weighted trees and as a policy."""

from certree.study.case import CaseStudy, Matching, run
from certree.study.folder import has_pictures, write
from certree.study.summary import summarise

__all__ = ["CaseStudy", "Matching", "has_pictures", "run", "summarise", "write"]
