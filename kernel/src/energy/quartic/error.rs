//! Why numbers are not a quartic mixture.

crate::error::errors! {
    /// Why numbers are not a quartic mixture.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum QuarticError {
        /// No sites, coordinates or components, or a slice that is not whole rows.
        Shape => "there must be whole rows of at least one site, coordinate and component";
        /// A site must have 2 to 65,536 values.
        Arity => "a site must have 2 to 65536 values";
        /// An entry of the linear map is NaN or infinite, or not zero past the last coordinate.
        Map {
            /// Its site.
            site: usize,
            /// Its coordinate.
            coordinate: usize,
        } => "the map's entry for site {site}, coordinate {coordinate} is not finite or not padding";
        /// A centre is NaN or infinite, or not zero past the last coordinate.
        Centre {
            /// Its component.
            component: usize,
            /// Its coordinate.
            coordinate: usize,
        } => "coordinate {coordinate} of centre {component} is not finite or not padding";
        /// An entry of the linear map would be lost or much changed by rounding, next to a far larger one.
        Rounded {
            /// Its site.
            site: usize,
            /// Its coordinate.
            coordinate: usize,
        } => "the map's entry for site {site}, coordinate {coordinate} is lost in rounding";
        /// A coordinate could be farther than 10⁶ from a centre.
        TooLarge {
            /// The coordinate.
            coordinate: usize,
        } => "coordinate {coordinate} could pass 1e6";
    }
}
